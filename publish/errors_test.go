package publish

import (
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What a server says is quoted in a bounded length, as UTF-8, without the key.
func TestDetailIsBounded(t *testing.T) {
	const key = "public.t|ä secret"
	for _, text := range []string{strings.Repeat("é", 1000), "x" + strings.Repeat("é", 1000), strings.Repeat(key+" ", 100)} {
		got := detail(status.Error(codes.InvalidArgument, text), key)
		if len(got) > maxDetailBytes+len("…") || !utf8.ValidString(got) || strings.Contains(got, "secret") || !strings.HasSuffix(got, "…") {
			t.Errorf("%d bytes: %s", len(got), got)
		}
	}
}
