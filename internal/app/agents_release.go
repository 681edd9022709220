//go:build release

package app

import (
	"embed"
	"io"
)

// The release build writes the programs into agents before it compiles this package.
//
//go:embed agents/omoi-agent-linux-amd64 agents/omoi-agent-linux-arm64
var builtIn embed.FS

func builtInAgent(arch string) (io.ReadCloser, bool) {
	program, err := builtIn.Open("agents/omoi-agent-linux-" + arch)
	return program, err == nil
}
