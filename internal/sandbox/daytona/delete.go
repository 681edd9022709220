package daytona

import (
	"context"
	"log/slog"

	apiclient "github.com/daytonaio/daytona/libs/api-client-go"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// Delete deletes the sandbox with this name and these labels, and waits until Daytona no longer has it. A missing
// sandbox is a success. [task.CodeUnavailable]: Daytona does not answer, or still has the sandbox after
// [Config.DeletePatience].
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
	case task.CodeConflict: // the name belongs to a sandbox with other labels
		return nil
	default:
		return unasked(err)
	}
}

// nameless returns a sandbox in deletion, nil if there is none. Daytona frees the name when it accepts a delete, long
// before the machine is deleted. The list may be out of date, so nameless reads each sandbox of the list.
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
	return nil, nil //nolint:nilnil // no sandbox is left
}

// remove deletes a sandbox by ID, so that no other sandbox with the same name is deleted, and waits until it is absent.
// A conflict with another change is retried.
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
		case apiclient.SANDBOXSTATE_ERROR: // the deletion failed; request it again
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

// List returns the sandboxes of an installation, from all pages. A sandbox with unreadable labels is logged and
// skipped, so that it stays and does not hide the others. The list may be out of date: other methods do not use it to
// decide whether a sandbox exists.
func (p *Provider) List(ctx context.Context, installation string) ([]sandbox.Sandbox, error) {
	return p.list(ctx, map[string]string{labelInstallation: installation})
}

// Survey returns the sandboxes of all installations in the account. Sandboxes without labels of omoi are skipped.
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
