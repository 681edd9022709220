package daytona

import (
	"context"

	apiclient "github.com/daytonaio/daytona/libs/api-client-go"

	"github.com/omoi-dev/omoi/internal/task"
)

// Check asks Daytona whether the key is good, and answers what sandboxes would be made of. It
// changes nothing.
func (p *Provider) Check(ctx context.Context) (string, error) {
	if err := p.Ready(); err != nil {
		return "", err
	}
	if _, err := p.client.page(ctx, "{}", ""); err != nil {
		return "", err
	}
	if p.cfg.Snapshot == "" {
		return "image " + p.cfg.Image, nil
	}
	found, err := p.client.snapshot(ctx, p.cfg.Snapshot)
	instead := "; image " + p.cfg.Image + " is used instead"
	switch {
	case task.CodeOf(err) == task.CodeNotFound:
		return "there is no snapshot " + p.cfg.Snapshot + instead, nil
	case err != nil:
		return "", err
	case p.elsewhere(found):
		return "snapshot " + p.cfg.Snapshot + " is not in region " + p.cfg.Target + instead, nil
	case found.State == apiclient.SNAPSHOTSTATE_ACTIVE:
		return "snapshot " + p.cfg.Snapshot, nil
	case found.State == apiclient.SNAPSHOTSTATE_INACTIVE:
		return "snapshot " + p.cfg.Snapshot + " is inactive; it is activated by the first sandbox", nil
	}
	return "snapshot " + p.cfg.Snapshot + " is " + string(found.State), nil
}
