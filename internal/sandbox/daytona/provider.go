package daytona

import (
	"context"
	"errors"
	"log/slog"
	"time"

	apiclient "github.com/daytonaio/daytona/libs/api-client-go"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// Name is the provider's word on the wire.
const Name = task.ProviderDaytona

// The labels of a sandbox. No secret is among them: everybody in the organization sees them.
const (
	labelPrefix       = "omoi-"
	labelInstallation = labelPrefix + "installation"
)

// Provider makes sandboxes at Daytona. It keeps nothing.
type Provider struct {
	cfg    Config
	client *client
	log    *slog.Logger
}

var _ sandbox.Provider = (*Provider)(nil)

// New makes the provider; it asks nobody. It answers [task.CodeInvalid] for a bad configuration.
// A missing key is none: see [Provider.Ready].
func New(cfg Config, log *slog.Logger) (*Provider, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Provider{cfg: cfg, client: newClient(cfg), log: log}, nil
}

// Name is "daytona".
func (p *Provider) Name() string { return Name }

// Capabilities never change.
func (p *Provider) Capabilities() sandbox.Capabilities {
	caps := task.ProviderOf(Name).Capabilities
	caps.LongestCreate = p.cfg.LongestCreate
	return caps
}

// Ready says what is missing before a sandbox can be made: [task.CodeForbidden], since waiting
// does not help.
func (p *Provider) Ready() error {
	if p.cfg.APIKey == "" {
		return task.Errorf(task.CodeForbidden, "Daytona API key not configured. Next: set DAYTONA_API_KEY for omoi worker, restart it, then omoi retry for tasks that failed")
	}
	return nil
}

// unasked turns a refused key into what it means for a sandbox that exists: it cannot be asked.
func unasked(err error) error {
	if task.CodeOf(err) == task.CodeForbidden {
		return task.Errorf(task.CodeUnavailable, "Daytona cannot be reached: %s", task.MessageOf(err)).WithCause(err)
	}
	return err
}

// unanswered is the error of a call whose refusal says nothing about one sandbox: that a list was not found, for instance.
func unanswered(err error) error {
	switch task.CodeOf(err) {
	case task.CodeNotFound, task.CodeConflict, task.CodeInvalid:
		return task.Errorf(task.CodeUnavailable, "Daytona did not answer: %s", task.MessageOf(err)).WithCause(err)
	default:
		return unasked(err)
	}
}

// find reads the sandbox of these labels. It answers [task.CodeNotFound] where there is none,
// [sandbox.ErrNameTaken] where it is another's.
func (p *Provider) find(ctx context.Context, labels sandbox.Labels) (*apiclient.Sandbox, error) {
	if err := labels.Check(); err != nil {
		return nil, err
	}
	if err := p.Ready(); err != nil {
		return nil, err
	}
	box, err := p.client.get(ctx, task.SandboxName(labels.SandboxID))
	switch {
	case task.CodeOf(err) == task.CodeConflict: // the name is another's only where its labels say so
		return nil, unanswered(err)
	case err != nil:
		return nil, err
	case !agree(box.Labels, labels):
		return nil, sandbox.ErrNameTaken
	case box.GetState() == apiclient.SANDBOXSTATE_DESTROYED:
		return nil, task.Errorf(task.CodeNotFound, "sandbox %s was destroyed", labels.SandboxID)
	}
	return box, nil
}

// running says why a sandbox in which a command was started does not run any more; nil if it
// does, as far as Daytona knows.
func (p *Provider) running(ctx context.Context, labels sandbox.Labels) error {
	box, err := p.find(ctx, labels)
	if err != nil || box.GetState() == apiclient.SANDBOXSTATE_STARTED {
		return unasked(err)
	}
	return task.Errorf(task.CodeNotFound, "sandbox %s is %s: what ran in it has ended", labels.SandboxID, box.GetState())
}

// inside is the toolbox of a sandbox that runs. One that was stopped is started again: its
// files are still there.
func (p *Provider) inside(ctx context.Context, labels sandbox.Labels) (*toolbox, error) {
	box, err := p.find(ctx, labels)
	if err != nil {
		return nil, unasked(err)
	}
	if box.GetState() != apiclient.SANDBOXSTATE_STARTED {
		if box, err = p.wake(ctx, box); err != nil {
			return nil, err
		}
	}
	return p.toolbox(ctx, box)
}

// wake brings a stopped sandbox back, and waits for one that is on its way.
func (p *Provider) wake(ctx context.Context, box *apiclient.Sandbox) (*apiclient.Sandbox, error) {
	switch box.GetState() {
	case apiclient.SANDBOXSTATE_ERROR, apiclient.SANDBOXSTATE_BUILD_FAILED:
		return nil, task.Errorf(task.CodeUnavailable, "sandbox %s is in error at Daytona: %s", box.Name, cut(box.GetErrorReason()))
	case apiclient.SANDBOXSTATE_DESTROYING:
		return nil, task.Errorf(task.CodeNotFound, "sandbox %s is being destroyed", box.Name)
	default:
		box, err := p.awaitStarted(ctx, box.Id, true)
		return box, unasked(err)
	}
}

// agree reports whether all labels of ours are there; people may have added others.
func agree(have map[string]string, want sandbox.Labels) bool {
	return sandbox.LabelsOf(have, labelPrefix) == want
}

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

// poll looks until look says that it is done, gently: a look that failed for a passing reason
// is repeated. After patience it answers [task.CodeUnavailable] with what it waited for.
func (p *Provider) poll(ctx context.Context, patience time.Duration, what string, look func(context.Context) (bool, error)) error {
	within, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var last error
	for delay := p.cfg.PollMin; ; delay = min(delay+delay/2, p.cfg.PollMax) {
		done, err := look(within)
		if done || err != nil && !passing(err) {
			return err
		}
		if err != nil && within.Err() == nil {
			last = err
		}
		if wait.For(within, delay) != nil {
			break
		}
	}
	if err := ctx.Err(); err != nil {
		return errors.Join(err, last)
	}
	return task.Errorf(task.CodeUnavailable, "timed out waiting until %s", what).WithCause(last)
}
