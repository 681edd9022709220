package local

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

var _ sandbox.Surveyor = (*Provider)(nil)

// Survey answers the sandboxes of every installation that uses this folder, also those that
// are still being removed. What has no readable labels is left out: nobody's name is on it.
func (p *Provider) Survey(context.Context) ([]sandbox.Sandbox, error) {
	p.reap()
	var found []sandbox.Sandbox
	for _, dir := range []string{p.cfg.Root, filepath.Join(p.cfg.Root, ".trash")} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, unavailable("list sandboxes", err)
		}
		for _, entry := range entries {
			var m meta
			ours := strings.HasPrefix(entry.Name(), task.SandboxNamePrefix)
			if ok, err := folder(filepath.Join(dir, entry.Name())).load(fileLabels, &m); ours && ok && err == nil {
				found = append(found, m.sandbox())
			}
		}
	}
	return found, nil
}
