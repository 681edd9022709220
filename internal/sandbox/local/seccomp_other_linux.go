//go:build linux && !amd64 && !arm64

package local

// seccompFilter is empty: the numbers of this processor's calls are not known.
func seccompFilter() []byte { return nil }
