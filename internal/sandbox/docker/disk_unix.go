//go:build unix

package docker

import (
	"strings"

	"golang.org/x/sys/unix"
)

// freeBytes is the free space of the file system that holds the engine's data; 0 where that is not on this
// machine, or nothing is known of it yet.
func (p *Provider) freeBytes() int64 {
	p.mu.Lock()
	known := p.known
	p.mu.Unlock()
	var stat unix.Statfs_t
	if known == nil || !strings.HasPrefix(p.cfg.Host, "unix://") || unix.Statfs(known.info.DockerRootDir, &stat) != nil {
		return 0
	}
	return int64(stat.Bfree) * int64(stat.Bsize) //nolint:gosec,unconvert // of a real disk; its type differs between systems
}
