package config

import (
	"fmt"
	"slices"
	"strings"
)

// Finding is one thing that is wrong with a file.
type Finding struct {
	File    string
	Line    int    // from 1; 0 if the finding is about the file
	Column  int    // from 1, in characters; 0 likewise
	Key     string // such as pubsub.ordered.topic or tables[2].mode; may be empty
	Problem string
	Do      string // what to do
}

// Error returns file:line:column: key: problem: what to do.
func (f Finding) Error() string {
	var b strings.Builder
	b.WriteString(f.File)
	if f.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", f.Line, f.Column)
	}
	if f.Key != "" {
		b.WriteString(": " + f.Key)
	}
	b.WriteString(": " + f.Problem)
	if f.Do != "" {
		b.WriteString("; " + f.Do)
	}
	return b.String()
}

// Code implements the error contract of package service.
func (f Finding) Code() string { return "config_invalid" }

// Fix implements the error contract of package service.
func (f Finding) Fix() string { return f.Do }

// Findings are all that is wrong with a file, in the order of its lines. As an
// error it has at least one.
type Findings []Finding

// Error returns one line per finding.
func (fs Findings) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// Code implements the error contract of package service.
func (fs Findings) Code() string { return "config_invalid" }

// Fix implements the error contract of package service.
func (fs Findings) Fix() string { return "correct the configuration file" }

// Unwrap returns the findings one by one.
func (fs Findings) Unwrap() []error {
	errs := make([]error, len(fs))
	for i, f := range fs {
		errs[i] = f
	}
	return errs
}

// orNil sorts the findings by place and returns them as an error, nil if there
// are none.
func (fs Findings) orNil() error {
	if len(fs) == 0 {
		return nil
	}
	slices.SortStableFunc(fs, func(a, b Finding) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return fs
}
