//go:build !release

package app

import "io"

// builtInAgent returns false: only release builds embed omoi-agent.
func builtInAgent(string) (io.ReadCloser, bool) { return nil, false }
