package service

import (
	"runtime/debug"
	"strings"

	"cdc/cmd/internal/config"
)

// version is the commit that the binary was built from, with + if the tree had
// changes.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "+"
		}
	}
	if revision == "" {
		return "unknown (built without version control)"
	}
	return revision + modified
}

// UserAgent names the service and its version to the servers it calls.
func UserAgent(s config.Service) string {
	v, _, _ := strings.Cut(version(), " ")
	return string(s) + "/" + v
}
