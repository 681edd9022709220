package app

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
)

// Build is the build information of a binary.
type Build struct {
	// Version is the tag of the commit, or a pseudo-version; (devel) outside of version control
	Version  string    `json:"version"`
	Commit   string    `json:"commit"`                // empty outside of version control
	Date     time.Time `json:"committed_at,omitzero"` // time of the commit
	Modified bool      `json:"modified"`              // built from a tree with uncommitted changes
	Go       string    `json:"go"`
	Platform string    `json:"platform"`
	Protocol int       `json:"agent_protocol"`
}

// String returns the version as one word: v1.2.0, a pseudo-version, or devel.
func (b Build) String() string { return strings.Trim(b.Version, "()") }

// Describe returns the line that omoi version prints.
func (b Build) Describe() string {
	from := ""
	if b.Commit != "" {
		from = fmt.Sprintf(" (commit %.12s of %s", b.Commit, b.Date.Format(time.DateOnly))
		if b.Modified {
			from += ", modified"
		}
		from += ")"
	}
	return fmt.Sprintf("omoi %s%s, %s %s, agent protocol %d", b, from, b.Go, b.Platform, b.Protocol)
}

// ReadBuild returns the build information of the running binary.
func ReadBuild() Build {
	info, _ := debug.ReadBuildInfo() // nil: a binary without module information
	return buildOf(info)
}

func buildOf(info *debug.BuildInfo) Build {
	b := Build{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Protocol: agentconfig.Protocol}
	if info == nil {
		return b
	}
	b.Version = cmp.Or(info.Main.Version, b.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		case "vcs.time":
			b.Date, _ = time.Parse(time.RFC3339, s.Value)
		}
	}
	return b
}
