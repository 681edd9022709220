package app

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
)

// Build is what a binary knows of itself.
type Build struct {
	Version  string `json:"version"`  // of the module, or (devel)
	Revision string `json:"revision"` // commit; empty outside of version control
	Modified bool   `json:"modified"` // built from a tree with changes
	Time     string `json:"time"`     // of the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Protocol int    `json:"agent_protocol"`
}

// String is one short word for it, as v1.2.0 or 1f2e3d4c5b6a.
func (b Build) String() string {
	if b.Version == "(devel)" && b.Revision != "" {
		return fmt.Sprintf("%.12s", b.Revision)
	}
	return strings.Trim(b.Version, "()")
}

// ReadBuild asks the running binary.
func ReadBuild() Build {
	b := Build{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Protocol: agentconfig.Protocol}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		case "vcs.time":
			b.Time = s.Value
		}
	}
	return b
}
