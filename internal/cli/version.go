package cli

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/omoi-dev/omoi/internal/agent/spec"
)

// build is what a binary knows of itself.
type build struct {
	Version  string `json:"version"`  // of the module, or (devel)
	Revision string `json:"revision"` // commit; empty outside of version control
	Modified bool   `json:"modified"` // built from a tree with changes
	Time     string `json:"time"`     // of the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Protocol int    `json:"agent_protocol"`
}

func newVersion(g *globals) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Say what this binary was built from", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := readBuild()
			if g.json {
				return json.NewEncoder(g.stdout).Encode(b)
			}
			dirty := ""
			if b.Modified {
				dirty = " with changes"
			}
			_, err := fmt.Fprintf(g.stdout, "omoi %s %.12s%s, %s %s, agent protocol %d\n", b.Version, b.Revision, dirty, b.Go, b.Platform, b.Protocol)
			return err
		},
	}
}

func readBuild() build {
	b := build{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Protocol: spec.Protocol}
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
