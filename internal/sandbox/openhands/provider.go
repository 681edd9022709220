package openhands

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/omoi-dev/omoi/internal/openhands"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/sandbox/place"
	"github.com/omoi-dev/omoi/internal/task"
)

// Config configures the provider.
type Config struct {
	URL string // address of the server
	Key string // one of its session API keys
	// Dir is the folder on the server's machine.
	Dir string
	// Wrapped isolates each sandbox by bubblewrap, which the machine must have.
	Wrapped bool
	// Limits are the default limits of a sandbox.
	Limits sandbox.Limits
	// Program opens omoi-agent for an architecture.
	Program func(arch string) (io.ReadCloser, error)
}

// Provider implements [sandbox.Provider].
type Provider struct {
	cfg Config
	to  *openhands.Client // nil: no server is configured
	log *slog.Logger

	installs singleflight.Group

	mu    sync.Mutex
	known machine // zero: not known yet
}

var (
	_ sandbox.Provider = (*Provider)(nil)
	_ sandbox.Readier  = (*Provider)(nil)
	_ sandbox.Placed   = (*Provider)(nil)
)

// New returns a provider. It sends no request. Without an address the provider opens too, because existing sandboxes must stay accounted for.
func New(cfg Config, log *slog.Logger) (*Provider, error) {
	p := &Provider{cfg: cfg, log: log}
	if cfg.URL == "" {
		return p, nil
	}
	if !path.IsAbs(cfg.Dir) {
		return nil, task.Invalid("openhands.dir", "The folder %q on the OpenHands server is not an absolute path.", cfg.Dir)
	}
	var err error
	p.to, err = openhands.New(cfg.URL, cfg.Key)
	return p, err
}

// Name returns the name of the provider's row.
func (*Provider) Name() string { return task.ProviderOpenHands }

// Capabilities returns the constant capabilities of the provider.
func (*Provider) Capabilities() sandbox.Capabilities {
	return task.ProviderOf(task.ProviderOpenHands).Capabilities
}

// Ready implements [sandbox.Readier].
func (p *Provider) Ready() error {
	if p.to == nil {
		return task.Errorf(task.CodeInvalid, "No OpenHands server is configured. Next: omoi openhands start, or set WORKSPACE_REMOTE_HOST; see docs/OPENHANDS.md")
	}
	return nil
}

// Check returns an error if the server cannot be used, else what it is.
func (p *Provider) Check(ctx context.Context) (string, error) {
	if err := p.Ready(); err != nil {
		return "", err
	}
	info, err := p.to.Check(ctx)
	return "OpenHands " + info.Version + " at " + p.to.Address(), err
}

// Paths returns the folders of a sandbox.
func (p *Provider) Paths(labels sandbox.Labels) sandbox.Paths {
	return place.Paths(p.root(), p.cfg.Wrapped, labels)
}

func (p *Provider) root() string { return path.Join(p.cfg.Dir, "sandboxes") }

// Ensure implements [sandbox.Provider].
func (p *Provider) Ensure(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	if err := p.Ready(); err != nil {
		return sandbox.Sandbox{}, err
	}
	switch _, err := p.to.Check(ctx); task.CodeOf(err) {
	case "":
	case task.CodeInvalid, task.CodeForbidden: // omoi cannot use this server
		return sandbox.Sandbox{}, err
	default:
		return sandbox.Sandbox{}, ofServer(err)
	}
	a, at, err := p.callAt(ctx, place.Request{Method: place.Ensure, Spec: spec})
	a.Box.ProviderID = at.named(a.Box.ProviderID)
	return a.Box, err
}

// named returns the ID of a sandbox with that of its machine in front; empty for an empty one.
func (m machine) named(id string) string {
	if id == "" {
		return ""
	}
	return m.id + "/" + id
}

// Place implements [sandbox.Placed].
func (p *Provider) Place(ctx context.Context) (string, error) {
	at, err := p.installed(ctx)
	if err != nil {
		return "", err
	}
	return at.id + "/", nil
}

// Reaches implements [sandbox.Placed]: another server may be configured now, or its machine be another one.
func (p *Provider) Reaches(ctx context.Context, providerID string) error {
	id, _, ok := strings.Cut(providerID, "/")
	if !ok {
		return nil
	}
	if err := p.Ready(); err != nil { // a setting of this worker must not end a cleanup
		return task.Errorf(task.CodeUnavailable, "%s", task.MessageOf(err)).WithCause(err)
	}
	at, err := p.installed(ctx)
	if err == nil && at.id != id {
		err = task.Errorf(task.CodeUnavailable, "The OpenHands server %s has another machine or folder than this sandbox. "+
			"Next: configure the former server", p.to.Address())
	}
	return err
}

// Inspect implements [sandbox.Provider].
func (p *Provider) Inspect(ctx context.Context, labels sandbox.Labels) (sandbox.Inspection, error) {
	a, at, err := p.callAt(ctx, place.Request{Method: place.Inspect, Labels: labels})
	if err != nil {
		return sandbox.Unseen(err)
	}
	a.Seen.ProviderID = at.named(a.Seen.ProviderID)
	return a.Seen, nil
}

// Start implements [sandbox.Provider].
func (p *Provider) Start(ctx context.Context, labels sandbox.Labels, cmd sandbox.Command) error {
	_, err := p.call(ctx, place.Request{Method: place.Start, Labels: labels, Command: commandOf(cmd)})
	return err
}

// commandOf returns a command without its input.
func commandOf(cmd sandbox.Command) place.Command {
	return place.Command{Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Timeout: cmd.Timeout}
}

// Stop implements [sandbox.Provider].
func (p *Provider) Stop(ctx context.Context, labels sandbox.Labels, grace time.Duration) error {
	_, err := p.call(ctx, place.Request{Method: place.Stop, Labels: labels, Grace: grace})
	return err
}

// Delete implements [sandbox.Provider].
func (p *Provider) Delete(ctx context.Context, labels sandbox.Labels) error {
	_, err := p.call(ctx, place.Request{Method: place.Delete, Labels: labels})
	return err
}

// List implements [sandbox.Provider].
func (p *Provider) List(ctx context.Context, installation string) ([]sandbox.Sandbox, error) {
	a, at, err := p.callAt(ctx, place.Request{Method: place.List, Installation: installation})
	return at.all(a.Boxes), err
}

func (m machine) all(boxes []sandbox.Sandbox) []sandbox.Sandbox {
	for n := range boxes {
		boxes[n].ProviderID = m.named(boxes[n].ProviderID)
	}
	return boxes
}

// Survey implements [sandbox.Provider].
func (p *Provider) Survey(ctx context.Context) ([]sandbox.Sandbox, error) {
	a, at, err := p.callAt(ctx, place.Request{Method: place.Survey})
	return at.all(a.Boxes), err
}

// WriteFile uploads the content first, so that a broken one replaces nothing.
func (p *Provider) WriteFile(ctx context.Context, labels sandbox.Labels, name string, mode uint32, r io.Reader) error {
	if _, _, err := p.Paths(labels).Locate(name); err != nil {
		return err
	}
	if _, err := p.call(ctx, place.Request{Method: place.Log, Labels: labels}); err != nil { // before a large upload for none
		return err
	}
	file := p.newFile()
	if err := p.upload(ctx, file, r); err != nil {
		p.remove(ctx, file)
		return err
	}
	_, err := p.call(ctx, place.Request{Method: place.WriteFile, Labels: labels, Path: name, Mode: mode, File: file})
	return err
}

// ReadFile implements [sandbox.Provider].
func (p *Provider) ReadFile(ctx context.Context, labels sandbox.Labels, name string) (io.ReadCloser, error) {
	return p.content(ctx, place.Request{Method: place.ReadFile, Labels: labels, Path: name})
}

// Log implements [sandbox.Provider].
func (p *Provider) Log(ctx context.Context, labels sandbox.Labels, offset int64) (io.ReadCloser, error) {
	return p.content(ctx, place.Request{Method: place.Log, Labels: labels, Offset: offset})
}

// content downloads what a request reads.
func (p *Provider) content(ctx context.Context, ask place.Request) (io.ReadCloser, error) {
	ask.File = p.newFile()
	stored, err := p.call(ctx, ask)
	if err != nil {
		return nil, err
	}
	done := func() { p.remove(context.WithoutCancel(ctx), ask.File) }
	body, err := p.download(ctx, ask.File)
	if err != nil {
		done()
		return nil, err
	}
	return &download{ReadCloser: body, left: stored.Out, done: done}, nil
}

// download removes its file when it is closed.
type download struct {
	io.ReadCloser

	left int64 // bytes until the end
	done func()
}

// Read returns an error at the end of another content than the file's: a proxy may answer with a text of its own.
func (d *download) Read(to []byte) (int, error) {
	n, err := d.ReadCloser.Read(to)
	if d.left -= int64(n); d.left < 0 || errors.Is(err, io.EOF) && d.left > 0 {
		return n, task.Errorf(task.CodeUnavailable, "The OpenHands server gave another content than that of the file.")
	}
	return n, err
}

func (d *download) Close() error {
	defer d.done()
	return d.ReadCloser.Close()
}
