package agent

import (
	"log/slog"
	"os"
	"path/filepath"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/agent/cache"
)

// fillCache puts in place what earlier setup steps of the project downloaded. What it answers
// keeps what this one added. Neither is ever the reason that a setup fails.
func (s *session) fillCache() (keep func()) {
	if s.cfg.CacheBytes <= 0 {
		return func() {}
	}
	dir := filepath.Join(home(s.cfg), ".cache")
	in, out := s.cachePath(agentconfig.InCache), s.cachePath(agentconfig.OutCache)
	if err := cache.Unpack(in, dir); err != nil {
		s.deps.Log.Warn("the dependency cache is of no use", slog.Any("error", err))
	}
	_ = os.Remove(in)
	files, bytes := cache.Size(dir)
	return func() {
		if f, b := cache.Size(dir); f == files && b == bytes {
			return
		}
		if err := cache.Pack(dir, out, s.cfg.CacheBytes); err != nil {
			s.deps.Log.Warn("the dependency cache is not kept", slog.Any("error", err))
		}
	}
}

func (s *session) cachePath(name string) string {
	return filepath.Join(s.cfg.Dir, filepath.Base(name))
}
