package config

import "strings"

// key is a key that the file sets.
type key struct {
	line, column int    // of the value's first character
	text         string // of a scalar; empty for a mapping, a list and a secret
}

// keys are the keys that a file sets, by path: source.slot, tables[0].match.
type keys map[string]key

// at returns the place of path, or of the nearest key above it that the file sets.
func (k keys) at(path string) (line, column int) {
	for path != "" {
		if p, ok := k[path]; ok {
			return p.line, p.column
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	if p, ok := k[""]; ok {
		return p.line, p.column
	}
	return 1, 1
}

// Sets reports whether the file sets the key at path, such as source.slot or
// tables[0].mode.
func (c *Config) Sets(path string) bool {
	_, ok := c.keys[path]
	return ok
}
