package daytona

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	apiclient "github.com/daytonaio/daytona/libs/api-client-go"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// Ensure creates the sandbox, or adopts the one with the same labels, and waits until it runs commands. Errors:
// [sandbox.ErrNameTaken] for other labels, [sandbox.ErrFenced] for a sandbox in deletion, [task.CodeInvalid] for limits
// out of range and rejected requests, [task.CodeForbidden] without a valid API key, [task.CodeExhausted] without quota
// or runners.
func (p *Provider) Ensure(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	spec, err := spec.Complete(sandbox.NetworkHost, p.cfg.Limits, 0)
	if err != nil {
		return sandbox.Sandbox{}, err
	}
	if err := p.Ready(); err != nil {
		return sandbox.Sandbox{}, err
	}
	box, adopted, err := p.adoptOrMake(ctx, spec)
	if err != nil {
		return sandbox.Sandbox{}, err
	}
	if box, err = p.awaitStarted(ctx, box.Id, adopted); err != nil {
		return sandbox.Sandbox{}, err
	}
	arch, err := p.furnish(ctx, box)
	if err != nil {
		return sandbox.Sandbox{}, err
	}
	made := p.sandbox(box, spec.Labels)
	made.Adopted, made.Arch = adopted, arch
	return made, nil
}

const makeTries = 4

// adoptOrMake adopts the sandbox or creates it. Names are unique at Daytona, so that a create without an answer is
// found by name. A failed sandbox is deleted and created again.
func (p *Provider) adoptOrMake(ctx context.Context, spec sandbox.Spec) (box *apiclient.Sandbox, adopted bool, err error) {
	order := p.order(spec)
	var failed error
	for try := range makeTries {
		box, err := p.adopt(ctx, spec.Labels)
		if box != nil || err != nil && task.CodeOf(err) != task.CodeNotFound {
			return box, true, err
		}
		if try > 0 {
			if err := wait.For(ctx, p.cfg.PollMin<<try); err != nil {
				return nil, false, err
			}
		}
		box, failed = p.client.create(ctx, order)
		switch {
		// A server that ignores unknown fields may ignore labels too.
		case failed == nil && !agree(box.Labels, spec.Labels):
			return nil, false, sandbox.ErrNameTaken
		case failed == nil:
			return box, false, nil
		case task.CodeOf(failed) == task.CodeConflict || ambiguous(failed):
			continue // the sandbox may exist or appear later: the next iteration looks it up by name
		case task.CodeOf(failed) != task.CodeInvalid:
			return nil, false, failed
		}
		if order, err = p.afterRefusal(ctx, spec, order, failed); err != nil {
			return nil, false, err
		}
	}
	return nil, false, task.Errorf(task.CodeUnavailable, "Daytona did not create the sandbox: %s", cut(task.MessageOf(failed))).WithCause(failed)
}

// adopt returns the existing sandbox. A failed one is deleted, and the result is [task.CodeNotFound].
func (p *Provider) adopt(ctx context.Context, labels sandbox.Labels) (*apiclient.Sandbox, error) {
	box, err := p.find(ctx, labels)
	if err != nil {
		return nil, err
	}
	switch box.GetState() {
	case apiclient.SANDBOXSTATE_ERROR, apiclient.SANDBOXSTATE_BUILD_FAILED:
		p.log.WarnContext(ctx, "daytona sandbox in error state, replacing it", slog.String("sandbox", box.Name), slog.String("reason", cut(box.GetErrorReason())))
		if err := p.remove(ctx, box.Id); err != nil {
			return nil, err
		}
		return nil, task.Errorf(task.CodeNotFound, "sandbox %s failed at Daytona: %s", box.Name, cut(box.GetErrorReason()))
	case apiclient.SANDBOXSTATE_DESTROYING:
		return nil, sandbox.ErrFenced
	default:
		return box, nil
	}
}

// awaitStarted waits until a sandbox runs. If again is true, awaitStarted starts a stopped one.
func (p *Provider) awaitStarted(ctx context.Context, id string, again bool) (*apiclient.Sandbox, error) {
	var box *apiclient.Sandbox
	err := p.poll(ctx, createPatience, "Daytona has started the sandbox", func(ctx context.Context) (started bool, err error) {
		box, started, err = p.up(ctx, id, again)
		return started, err
	})
	return box, err
}

// up reads a sandbox, reports whether it runs, and starts a stopped one if again is true.
func (p *Provider) up(ctx context.Context, id string, again bool) (box *apiclient.Sandbox, started bool, err error) {
	if box, err = p.client.get(ctx, id); err != nil {
		return nil, false, err
	}
	switch box.GetState() {
	case apiclient.SANDBOXSTATE_STARTED:
		return box, true, nil
	case apiclient.SANDBOXSTATE_STOPPED, apiclient.SANDBOXSTATE_ARCHIVED, apiclient.SANDBOXSTATE_PAUSED:
		if again {
			// A conflict means that the sandbox is changing already.
			return box, false, ignore(p.client.start(ctx, id), task.CodeConflict)
		}
		fallthrough
	case apiclient.SANDBOXSTATE_ERROR, apiclient.SANDBOXSTATE_BUILD_FAILED,
		apiclient.SANDBOXSTATE_DESTROYING, apiclient.SANDBOXSTATE_DESTROYED:
		return box, false, task.Errorf(task.CodeGone, "the sandbox is %s at Daytona, not started: %s", box.GetState(), cut(box.GetErrorReason()))
	default:
		return box, false, nil
	}
}

// furnish waits for the toolbox, creates the folders, and returns the GOARCH of the machine. If the daemon dies before
// its first answer, Daytona stops the sandbox, and furnish starts it again.
func (p *Provider) furnish(ctx context.Context, box *apiclient.Sandbox) (string, error) {
	tb, err := p.toolbox(ctx, box)
	if err != nil {
		return "", err
	}
	err = p.poll(ctx, createPatience, "the sandbox's toolbox answers", func(ctx context.Context) (bool, error) {
		err := tb.version(ctx)
		// The proxy does not have an address of the sandbox.
		if task.CodeOf(err) == task.CodeNotFound || task.CodeOf(err) == task.CodeInvalid {
			_, _, err = p.up(ctx, box.Id, true)
			return false, err
		}
		return err == nil, err
	})
	if err != nil {
		return "", err
	}
	said, err := tb.script(ctx, scriptFurnish)
	if err != nil {
		return "", fmt.Errorf("create folders in the sandbox: %w", err)
	}
	if said.code != 0 {
		return "", task.Errorf(task.CodeInvalid,
			"the user of the sandbox cannot create the folder %s. Next: use a snapshot or image whose user is daytona or root, has sudo, or owns it", cut(said.text))
	}
	return goarch(said.text)
}

func goarch(machine string) (string, error) {
	switch machine {
	case "x86_64", "amd64":
		return "amd64", nil
	case "aarch64", "arm64":
		return "arm64", nil
	}
	return "", task.Errorf(task.CodeInvalid, "the sandbox's machine is %q; omoi-agent runs on amd64 and arm64", cut(machine))
}

// sandbox converts a sandbox of the API.
func (p *Provider) sandbox(box *apiclient.Sandbox, labels sandbox.Labels) sandbox.Sandbox {
	return sandbox.Sandbox{
		Labels: labels, ProviderID: box.Id, Isolation: p.parts(box), FixedSize: box.BuildInfo == nil, CreatedAt: when(box.GetCreatedAt()),
	}
}

// parts returns the isolation features, the source and the resources of the sandbox.
func (p *Provider) parts(box *apiclient.Sandbox) []string {
	parts := []string{"daytona"}
	if class := box.GetSandboxClass(); class != "" {
		parts = append(parts, class)
	}
	switch {
	case box.BuildInfo != nil && p.cfg.Snapshot != "":
		parts = append(parts, "image instead of snapshot "+p.cfg.Snapshot)
	case box.BuildInfo != nil:
		parts = append(parts, "image")
	case box.GetSnapshot() != "":
		parts = append(parts, "snapshot "+box.GetSnapshot())
	}
	if box.NetworkBlockAll {
		parts = append(parts, "network-none")
	}
	return append(parts, fmt.Sprintf("cpu %g", box.Cpu), fmt.Sprintf("memory %g GiB", box.Memory), fmt.Sprintf("disk %g GiB", box.Disk))
}

// when parses a time of Daytona; the zero time if it is invalid.
func when(raw string) time.Time {
	at, _ := time.Parse(time.RFC3339Nano, raw)
	return at.UTC()
}
