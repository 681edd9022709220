package openhands

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"path"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/openhands"
	"github.com/omoi-dev/omoi/internal/sandbox/place"
	"github.com/omoi-dev/omoi/internal/shellcmd"
	"github.com/omoi-dev/omoi/internal/task"
)

const (
	callTimeout   = 2 * time.Minute
	uploadTimeout = 10 * time.Minute
	dropTimeout   = 15 * time.Second
	// noProgram is the exit code of a call without a program.
	noProgram = 93
)

// call carries out a request on the server's machine. A request with secrets, or with a long text, is uploaded.
func (p *Provider) call(ctx context.Context, ask place.Request) (a place.Answer, err error) {
	a, _, err = p.callAt(ctx, ask)
	return a, err
}

// callAt is call that also returns the machine.
func (p *Provider) callAt(ctx context.Context, ask place.Request) (a place.Answer, at machine, err error) {
	if err := p.Ready(); err != nil {
		return a, at, err
	}
	ask.Root, ask.Wrapped, ask.Limits = p.root(), p.cfg.Wrapped, p.cfg.Limits
	text, err := place.Encode(ask)
	if err != nil {
		return a, at, err
	}
	if at, err = p.installed(ctx); err != nil {
		return a, at, err
	}
	from := " <<'OMOI'\n" + text + "\nOMOI\n"
	if len(ask.Command.Env) > 0 || len(text) > maxInline {
		file := p.newFile()
		if err := p.upload(ctx, file, strings.NewReader(text)); err != nil {
			p.drop(ctx, file)
			return a, at, err
		}
		from = " " + shellcmd.Line(file)
		defer func() {
			if a.Fault == nil && err != nil { // a request that was carried out is removed
				p.drop(ctx, file)
			}
		}()
	}
	out, err := p.run(ctx, p.begins(at)+"exec "+shellcmd.Line(at.program)+" place"+from, ask.Grace+callTimeout)
	if err != nil {
		return a, at, err
	}
	if err := place.Decode(out, &a); err != nil {
		return a, at, task.Errorf(task.CodeUnavailable, "The OpenHands server gave an unreadable answer to %s: %s", ask.Method, textcut.First(out, 200)).WithCause(err)
	}
	return a, at, a.Err()
}

// begins returns how a script on a machine begins: another machine, or one without the program, carries out nothing.
func (p *Provider) begins(at machine) string {
	return fmt.Sprintf("[ -x %s ] && [ \"$(cat %s)\" = %s ] || exit %d\nunset %s\n",
		shellcmd.Line(at.program), shellcmd.Line(p.idFile()), shellcmd.Line(at.id), noProgram, openhands.MarkName)
}

// maxInline is the longest request that is a part of a command.
const maxInline = 64 << 10

// run runs a shell script on the server's machine, and returns what it prints. A script that fails, or whose end is unknown, is
// [task.CodeUnavailable].
func (p *Provider) run(ctx context.Context, script string, timeout time.Duration) (string, error) {
	out, err := p.to.Bash(ctx, script, "/", timeout)
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("run a command on the OpenHands server: %w", ctx.Err())
	case err != nil:
		return "", ofServer(err)
	case out.ExitCode == 0:
		return out.Stdout, nil
	}
	if out.ExitCode == noProgram {
		p.forget()
	}
	return "", task.Errorf(task.CodeUnavailable, "A command on the OpenHands server ended with exit code %d: %s", out.ExitCode, textcut.First(out.Stderr, 500))
}

// ofServer returns an error of a route of the server, which says nothing about a sandbox or a file in it, whatever its code.
func ofServer(err error) error {
	if code := task.CodeOf(err); err == nil || code == task.CodeUnauthorized || code == task.CodeUnavailable {
		return err
	}
	return task.Errorf(task.CodeUnavailable, "%s", task.MessageOf(err)).WithCause(err)
}

// upload writes a file on the server's machine.
func (p *Provider) upload(ctx context.Context, file string, from io.Reader) error {
	return ofServer(p.to.Upload(ctx, file, from, uploadTimeout))
}

// download opens a file of the server's machine.
func (p *Provider) download(ctx context.Context, file string) (io.ReadCloser, error) {
	body, err := p.to.Download(ctx, file)
	return body, ofServer(err)
}

// newFile returns the path of a new file, in a folder that only the server's user may enter.
func (p *Provider) newFile() string { return path.Join(p.cfg.Dir, "calls", rand.Text()) }

// remove removes a file or folder of newFile. What stays is removed with those of calls that have died.
func (p *Provider) remove(ctx context.Context, file string) {
	if _, err := p.run(ctx, "rm -rf -- "+shellcmd.Line(file), callTimeout); err != nil {
		p.log.DebugContext(ctx, "remove file on the OpenHands server failed", slog.Any("error", err))
	}
}

// drop removes the file of a call that failed, perhaps because the server does not answer.
func (p *Provider) drop(ctx context.Context, file string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
	defer cancel()
	p.remove(ctx, file)
}

func (p *Provider) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = machine{}
}

// machine is what the provider knows of the server's machine.
type machine struct {
	id      string // random, of the folder on that machine
	program string // path of omoi-agent there
}

// idFile is the file with the ID of the machine.
func (p *Provider) idFile() string { return path.Join(p.cfg.Dir, "id") }

// installed returns the machine with omoi-agent, which it puts there if it is not. Calls that come at once share the installation, and each
// waits for it no longer than its ctx.
func (p *Provider) installed(ctx context.Context) (machine, error) {
	if known := p.remembered(); known.program != "" {
		return known, nil
	}
	done := p.installs.DoChan("", func() (any, error) { return p.furnish(context.WithoutCancel(ctx)) }) // each request has a timeout
	select {
	case <-ctx.Done():
		return machine{}, fmt.Errorf("install omoi-agent on the OpenHands server: %w", ctx.Err())
	case got := <-done:
		at, _ := got.Val.(machine)
		return at, got.Err
	}
}

func (p *Provider) remembered() machine {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known
}

// furnish puts omoi-agent on the machine.
func (p *Provider) furnish(ctx context.Context) (machine, error) {
	arch, id, err := p.prepare(ctx)
	if err != nil {
		return machine{}, err
	}
	program, name, err := p.read(arch)
	if err != nil {
		return machine{}, err
	}
	found, err := p.run(ctx, "[ -x "+shellcmd.Line(name)+" ] && echo yes || echo no", callTimeout)
	if err != nil {
		return machine{}, err
	}
	if strings.TrimSpace(found) != "yes" {
		if err := p.install(ctx, name, program); err != nil {
			return machine{}, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = machine{id, name}
	return p.known, nil
}

// prepare makes the folders, removes what dead calls have left a day ago, and returns architecture and ID of the machine.
func (p *Provider) prepare(ctx context.Context) (arch, id string, err error) {
	out, err := p.run(ctx, fmt.Sprintf(`set -e
umask 022
mkdir -p %[1]s
[ -O %[1]s ] && [ ! -L %[1]s ] || { echo "another user made "%[1]s >&2; exit 1; }
mkdir -p %[2]s %[3]s
chmod 711 %[1]s
chmod 700 %[2]s
find %[2]s -mindepth 1 -maxdepth 1 -mmin +1440 -exec rm -rf {} + || true
echo %[4]s > %[5]s && { ln %[5]s %[6]s 2>/dev/null || true; } && rm %[5]s
uname -m
cat %[6]s`, shellcmd.Line(p.cfg.Dir), shellcmd.Line(path.Join(p.cfg.Dir, "calls")), shellcmd.Line(path.Join(p.cfg.Dir, "bin")),
		rand.Text(), shellcmd.Line(p.newFile()), shellcmd.Line(p.idFile())), callTimeout)
	if err != nil {
		return "", "", err
	}
	of, id, _ := strings.Cut(strings.TrimSpace(out), "\n")
	arch, known := map[string]string{"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}[of]
	if !known {
		return "", "", task.Errorf(task.CodeInvalid, "The machine of the OpenHands server is a %s, and omoi has no program for it.", of)
	}
	return arch, id, nil
}

// read returns omoi-agent, and its path on the server's machine, which follows from its content.
func (p *Provider) read(arch string) (program []byte, name string, err error) {
	from, err := p.cfg.Program(arch)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = from.Close() }()
	if program, err = io.ReadAll(from); err != nil {
		return nil, "", fmt.Errorf("read omoi-agent: %w", err)
	}
	sum := sha256.Sum256(program)
	return program, path.Join(p.cfg.Dir, "bin", "omoi-agent-"+hex.EncodeToString(sum[:8])), nil
}

// install uploads omoi-agent, and then gives it its name.
func (p *Provider) install(ctx context.Context, name string, program []byte) error {
	file := p.newFile()
	if err := p.upload(ctx, file, bytes.NewReader(program)); err != nil {
		return err
	}
	quoted := shellcmd.Line(file)
	_, err := p.run(ctx, fmt.Sprintf("chmod 755 %[1]s && mv -f %[1]s %[2]s", quoted, shellcmd.Line(name)), callTimeout)
	return err
}
