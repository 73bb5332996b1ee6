package stack

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// Build compiles both services into dir, with the Go toolchain in PATH, from
// the module that the current folder is in.
func Build(ctx context.Context, dir string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", dir, "cdc/cmd/cdc-publisher", "cdc/cmd/cdc-sink")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("build the services: %w\n%s", err, strings.TrimSpace(string(out)))
	}
	return nil
}
