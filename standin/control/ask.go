package control

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// maxAnswerBytes bounds what Ask reads of an answer.
const maxAnswerBytes = 16 << 20

// Ask asks a control endpoint on addr (host:port) for something, as curl does;
// body may be empty. An answer that is a refusal is no error: status says so.
func Ask(ctx context.Context, addr, method, path, body string) (status int, answer string, err error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+addr+path, strings.NewReader(body))
	if err != nil {
		return 0, "", fmt.Errorf("ask %s %s: %w", method, path, err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", fmt.Errorf("ask the control endpoint: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
	if err != nil {
		return 0, "", fmt.Errorf("read the answer to %s %s: %w", method, path, err)
	}
	return resp.StatusCode, string(text), nil
}
