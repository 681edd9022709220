//go:build !release

package app

import "io"

// builtInAgent has nothing: only a release carries the agents inside.
func builtInAgent(string) (io.ReadCloser, bool) { return nil, false }
