package local

import (
	"path/filepath"
	"strings"

	"github.com/omoi-dev/omoi/internal/sandbox"
)

var _ sandbox.Reacher = (*Provider)(nil)

// APIURL is the socket wherever it is there and the API listens for this machine alone: it stays where it is when the
// API is started again on another port. Without bubblewrap a program sees it at its place on the host.
func (p *Provider) APIURL(want sandbox.Network, configured, socket string) string {
	switch {
	case want == sandbox.NetworkNone:
		return socket
	case p.cfg.APISocketDir == "" || !sandbox.Loopback(configured):
		return configured
	case p.mode == modeBubblewrap:
		return socket
	}
	return "unix://" + filepath.Join(p.cfg.APISocketDir, filepath.Base(strings.TrimPrefix(socket, "unix://")))
}
