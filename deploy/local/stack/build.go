package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Services are the names of the executables.
var Services = []string{"cdc-publisher", "cdc-sink"}

// buildError says that the services can't be built here.
type buildError struct {
	fix string
	err error
}

func (e *buildError) Error() string { return fmt.Sprintf("build the services: %v", e.err) }
func (e *buildError) Unwrap() error { return e.err }
func (e *buildError) Fix() string   { return e.fix }

const otherBin = ", or name the folder of built services with --bin"

// Build compiles both services into dir, with the Go toolchain in PATH, from
// the module that the current folder is in.
func Build(ctx context.Context, dir string) error {
	if _, err := exec.LookPath("go"); err != nil {
		return &buildError{"install Go 1.26 (https://go.dev/dl) and put it in PATH" + otherBin, err}
	}
	out, err := exec.CommandContext(ctx, "go", "list", "-m").CombinedOutput()
	if module := strings.TrimSpace(string(out)); ctx.Err() == nil && (err != nil || module != "cdc") {
		return &buildError{"call it in a folder of the clone" + otherBin, errors.New("the current folder isn't in the module cdc")}
	}
	args := []string{"build", "-o", dir}
	for _, name := range Services {
		args = append(args, "cdc/cmd/"+name)
	}
	out, err = exec.CommandContext(ctx, "go", args...).CombinedOutput()
	if err == nil {
		return nil
	}
	return &buildError{"go build says:\n" + strings.TrimSpace(string(out)), err}
}

// CheckBin says whether both services are in the folder.
func CheckBin(dir string) error {
	var errs []error
	for _, name := range Services {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
