package schematest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// maxFindings is how many findings a checker keeps in words; it counts them all.
const maxFindings = 20

// findings keeps the first findings of a checker.
type findings struct{ list []string }

func (f *findings) add(format string, args ...any) {
	if len(f.list) < maxFindings {
		f.list = append(f.list, fmt.Sprintf(format, args...))
	}
}

// Findings returns the first findings in words, at most 20.
func (f *findings) Findings() []string { return f.list }

// KeyName names a key without telling its values: what stands before its | (the
// table) and the start of the SHA-256 of the rest.
func KeyName(key string) string {
	table, rest, ok := strings.Cut(key, "|")
	if !ok {
		table, rest = "", key
	}
	sum := sha256.Sum256([]byte(rest))
	return table + "#" + hex.EncodeToString(sum[:4])
}
