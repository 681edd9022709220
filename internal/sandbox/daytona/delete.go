package daytona

import (
	"context"
	"log/slog"

	apiclient "github.com/daytonaio/daytona/libs/api-client-go"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// Delete removes the sandbox that has the name and all labels, and reads back that it is gone;
// where there is none, that is success. It answers [task.CodeUnavailable] where Daytona cannot be
// asked, or still destroys after [Config.DeletePatience].
func (p *Provider) Delete(ctx context.Context, labels sandbox.Labels) error {
	box, err := p.find(ctx, labels)
	switch task.CodeOf(err) {
	case "":
		return p.remove(ctx, box.Id)
	case task.CodeNotFound:
		if box, err = p.nameless(ctx, labels); box == nil || err != nil {
			return err
		}
		return p.remove(ctx, box.Id)
	case task.CodeConflict: // a stranger's is not ours
		return nil
	default:
		return unasked(err)
	}
}

// nameless finds what is left of a sandbox that has lost its name: Daytona gives the name away
// once a delete is accepted, long before the machine is gone. Nil if there is nothing. The list
// that is asked lags, and may show too much for a while; each one is looked at.
func (p *Provider) nameless(ctx context.Context, labels sandbox.Labels) (*apiclient.Sandbox, error) {
	items, err := p.client.list(ctx, labels.Pairs(labelPrefix))
	if err != nil {
		return nil, unanswered(err)
	}
	for _, item := range items {
		if !agree(item.Labels, labels) {
			continue
		}
		box, err := p.client.get(ctx, item.Id)
		if err != nil && task.CodeOf(err) != task.CodeNotFound {
			return nil, unanswered(err)
		}
		if err == nil && box.GetState() != apiclient.SANDBOXSTATE_DESTROYED {
			return box, nil
		}
	}
	return nil, nil //nolint:nilnil // nothing is the good answer
}

// remove deletes a sandbox by its id, so never another's of the same name, and waits until it
// is gone. A delete that is refused while something changes is asked for again.
func (p *Provider) remove(ctx context.Context, id string) error {
	asked := false
	return unasked(p.poll(ctx, p.cfg.DeletePatience, "Daytona has destroyed the sandbox", func(ctx context.Context) (bool, error) {
		if !asked {
			err := p.client.delete(ctx, id)
			switch task.CodeOf(err) {
			case "":
				asked = true
			case task.CodeNotFound:
				return true, nil
			case task.CodeConflict:
			default:
				return false, err
			}
		}
		box, err := p.client.get(ctx, id)
		if err != nil {
			return task.CodeOf(err) == task.CodeNotFound, ignore(err, task.CodeNotFound)
		}
		switch box.GetState() {
		case apiclient.SANDBOXSTATE_DESTROYED:
			return true, nil
		case apiclient.SANDBOXSTATE_ERROR: // the destruction failed
			asked = false
		default:
		}
		return false, nil
	}))
}

func ignore(err error, code task.Code) error {
	if task.CodeOf(err) == code {
		return nil
	}
	return err
}

// List answers what carries the installation's label, on all pages. One whose labels cannot be
// read is logged and left out: nobody may remove it, and it must not hide the others. The list
// lags behind, so it never decides whether one sandbox is there.
func (p *Provider) List(ctx context.Context, installation string) ([]sandbox.Sandbox, error) {
	return p.list(ctx, map[string]string{labelInstallation: installation})
}

// Survey answers the sandboxes of every installation that uses this account. What people made
// there otherwise has none of our labels and is left out.
func (p *Provider) Survey(ctx context.Context) ([]sandbox.Sandbox, error) {
	return p.list(ctx, map[string]string{})
}

func (p *Provider) list(ctx context.Context, filter map[string]string) ([]sandbox.Sandbox, error) {
	if err := unasked(p.Ready()); err != nil {
		return nil, err
	}
	items, err := p.client.list(ctx, filter)
	if err != nil {
		return nil, unasked(err)
	}
	found := make([]sandbox.Sandbox, 0, len(items))
	for _, item := range items {
		installation, ours := item.Labels[labelInstallation]
		want, exact := filter[labelInstallation]
		if !ours || exact && installation != want || item.GetState() == apiclient.SANDBOXSTATE_DESTROYED {
			continue
		}
		labels := sandbox.LabelsOf(item.Labels, labelPrefix)
		if labels.Attempt < 0 || labels.Check() != nil {
			p.log.ErrorContext(ctx, "read sandbox labels failed, sandbox skipped and never deleted", slog.String("daytona_id", item.Id))
			continue
		}
		found = append(found, sandbox.Sandbox{Labels: labels, ProviderID: item.Id, Isolation: []string{"daytona"}, CreatedAt: when(item.GetCreatedAt())})
	}
	return found, nil
}
