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

// Name is the wire value of the provider.
const Name = task.ProviderDaytona

// Labels of a sandbox. They contain no secret, because the whole organization can read them.
const (
	labelPrefix       = "omoi-"
	labelInstallation = labelPrefix + "installation"
)

// Provider creates sandboxes at Daytona. Provider keeps no state.
type Provider struct {
	cfg    Config
	client *client
	log    *slog.Logger
}

var _ sandbox.Provider = (*Provider)(nil)

// New returns a provider without a request to Daytona. An invalid configuration is [task.CodeInvalid]; a missing API
// key is not, see [Provider.Ready].
func New(cfg Config, log *slog.Logger) (*Provider, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Provider{cfg: cfg, client: newClient(cfg), log: log}, nil
}

// Name returns [Name].
func (p *Provider) Name() string { return Name }

// Capabilities returns the constant capabilities of the provider, with Config.LongestCreate.
func (p *Provider) Capabilities() sandbox.Capabilities {
	caps := task.ProviderOf(Name).Capabilities
	caps.LongestCreate = p.cfg.LongestCreate
	return caps
}

// Ready returns [task.CodeForbidden] if the API key is missing, because a retry does not help.
func (p *Provider) Ready() error {
	if p.cfg.APIKey == "" {
		return task.Errorf(task.CodeForbidden, "Daytona API key not configured. Next: set DAYTONA_API_KEY for omoi worker, restart it, then run omoi retry for tasks that failed")
	}
	return nil
}

// unasked converts a rejected API key to [task.CodeUnavailable]: the state of an existing sandbox is unknown.
func unasked(err error) error {
	if task.CodeOf(err) == task.CodeForbidden {
		return task.Errorf(task.CodeUnavailable, "cannot query Daytona: %s", task.MessageOf(err)).WithCause(err)
	}
	return err
}

// unanswered converts a refusal that says nothing about one sandbox to [task.CodeUnavailable], for example 404 for a
// list.
func unanswered(err error) error {
	switch task.CodeOf(err) {
	case task.CodeNotFound, task.CodeConflict, task.CodeInvalid:
		return task.Errorf(task.CodeUnavailable, "Daytona did not answer: %s", task.MessageOf(err)).WithCause(err)
	default:
		return unasked(err)
	}
}

// find returns the sandbox with these labels. Errors: [task.CodeNotFound] without a sandbox, [sandbox.ErrNameTaken] if
// the sandbox has other labels.
func (p *Provider) find(ctx context.Context, labels sandbox.Labels) (*apiclient.Sandbox, error) {
	if err := labels.Check(); err != nil {
		return nil, err
	}
	if err := p.Ready(); err != nil {
		return nil, err
	}
	box, err := p.client.get(ctx, task.SandboxName(labels.SandboxID))
	switch {
	case task.CodeOf(err) == task.CodeConflict: // only labels show that another sandbox has the name
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

// running returns an error if the sandbox no longer runs, nil if Daytona reports it as started.
func (p *Provider) running(ctx context.Context, labels sandbox.Labels) error {
	box, err := p.find(ctx, labels)
	if err != nil || box.GetState() == apiclient.SANDBOXSTATE_STARTED {
		return unasked(err)
	}
	return task.Errorf(task.CodeNotFound, "sandbox %s is %s: its command has ended", labels.SandboxID, box.GetState())
}

// inside returns the toolbox of a sandbox. A stopped sandbox is started, because its files still exist.
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

// wake starts a stopped sandbox, or waits for one that is starting.
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

// agree reports whether have contains all labels of omoi; other labels are ignored.
func agree(have map[string]string, want sandbox.Labels) bool {
	return sandbox.LabelsOf(have, labelPrefix) == want
}

// Check checks the API key, and returns the snapshot or image of new sandboxes. Check changes nothing.
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
		return "snapshot " + p.cfg.Snapshot + " is inactive; the first sandbox activates it", nil
	}
	return "snapshot " + p.cfg.Snapshot + " is " + string(found.State), nil
}

// poll calls look until it returns true or an error that is not passing. After patience, poll returns
// [task.CodeUnavailable].
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
