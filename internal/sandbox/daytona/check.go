package daytona

import (
	"context"

	apiclient "github.com/daytonaio/daytona/libs/api-client-go"
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
	found, why, err := p.snapshot(ctx)
	switch {
	case err != nil:
		return "", err
	case why != "":
		return why + "; image " + p.cfg.Image + " is used instead", nil
	case found.State == apiclient.SNAPSHOTSTATE_ACTIVE:
		return "snapshot " + p.cfg.Snapshot, nil
	case found.State == apiclient.SNAPSHOTSTATE_INACTIVE:
		return "snapshot " + p.cfg.Snapshot + " is inactive; it is activated by the first sandbox", nil
	}
	return "snapshot " + p.cfg.Snapshot + " is " + string(found.State), nil
}
