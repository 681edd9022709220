package daytona

import (
	"context"
	"crypto/rand"
	"strings"
	"time"

	toolboxclient "github.com/daytonaio/daytona/libs/toolbox-api-client-go"

	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/task"
)

// sessionAgent is the session whose first command is the agent.
const sessionAgent = "omoi-agent"

// Start runs the command once in the life of the sandbox. A running command is adopted. The script takes a lock, so
// that a second start runs nothing.
func (p *Provider) Start(ctx context.Context, labels sandbox.Labels, cmd sandbox.Command) error {
	if err := cmd.Check(); err != nil {
		return err
	}
	tb, err := p.inside(ctx, labels)
	if err != nil {
		return err
	}
	if seen, err := tb.agent(ctx); err != nil || seen.Started {
		return err
	}
	dir := dirTmp + "/" + rand.Text()
	// The script removes this folder. If the start fails before, the folder stays until the sandbox is deleted.
	if err := tb.furnish(ctx, dir, prepared(dir, scriptAgent, envFile(cmd))); err != nil {
		return err
	}
	return p.poll(ctx, startPatience, "the command has started", tb.launcher("sh "+dir+"/run "+dir))
}

// launcher returns a function for poll that starts the command line, and reports whether the agent runs. A lost answer,
// or a session that another starter has just opened, leads to another start. The lock lets only one start run the
// command.
func (t *toolbox) launcher(line string) func(context.Context) (bool, error) {
	sent := false
	return func(ctx context.Context) (bool, error) {
		seen, err := t.agent(ctx)
		if err != nil || seen.Started || sent {
			return err == nil && seen.Started, err
		}
		if err := t.session(ctx, sessionAgent); err != nil {
			return false, err
		}
		err = t.run(ctx, sessionAgent, line)
		sent = err == nil
		return false, ignore(ignore(err, task.CodeNotFound), task.CodeConflict)
	}
}

// startPatience is the maximum time for the shell of a session to start its command.
const startPatience = time.Minute

// prepared returns the files in the folder of a script.
func prepared(dir, script, env string) []file {
	return []file{
		{dir + "/lib", strings.NewReader(library())},
		{dir + "/run", strings.NewReader(scriptText(script))},
		{dir + "/tag", strings.NewReader(newTag() + "\n")},
		{dir + "/env", strings.NewReader(env)},
	}
}

// furnish uploads files to dir and restricts dir to its owner. The folders above are restricted already.
func (t *toolbox) furnish(ctx context.Context, dir string, files []file) error {
	if _, err := t.upload(ctx, files...); err != nil {
		return err
	}
	got, err := t.script(ctx, scriptPrivate, dir)
	if err != nil {
		return err
	}
	if got.code != 0 {
		return task.Errorf(task.CodeUnavailable, "the sandbox did not accept the files of the command: %s", cut(got.text))
	}
	return nil
}

// Stop sends SIGTERM to the command, and after grace SIGKILL to all its processes.
func (p *Provider) Stop(ctx context.Context, labels sandbox.Labels, grace time.Duration) error {
	tb, err := p.inside(ctx, labels)
	if err != nil {
		return err
	}
	seen, err := tb.agent(ctx)
	if err != nil || !seen.Started || seen.Agent == sandbox.StateGone {
		return err
	}
	if grace > 0 {
		if _, err := tb.script(ctx, scriptStop, "ask"); err != nil {
			return err
		}
		if err := p.poll(ctx, grace, "the command ends after SIGTERM", tb.ended); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return p.poll(ctx, killPatience, "the command ends after SIGKILL", func(ctx context.Context) (bool, error) {
		if _, err := tb.script(ctx, scriptStop, "force"); err != nil {
			return false, err
		}
		return tb.ended(ctx)
	})
}

// killPatience is the maximum time for processes to die after SIGKILL.
const killPatience = 30 * time.Second

func (t *toolbox) ended(ctx context.Context) (bool, error) {
	seen, err := t.agent(ctx)
	return err == nil && seen.Agent == sandbox.StateGone, err
}

// agent returns the state of the command. If the session reports a running command, one call is enough. Otherwise the
// files of the script decide, because a session is lost when its daemon dies.
func (t *toolbox) agent(ctx context.Context) (sandbox.Inspection, error) {
	ran, err := t.commands(ctx, sessionAgent)
	if err != nil && task.CodeOf(err) != task.CodeNotFound {
		return sandbox.Inspection{}, err
	}
	if runs(ran) {
		return sandbox.Inspection{State: sandbox.StateAlive, Agent: sandbox.StateAlive, Started: true}, nil
	}
	got, err := t.script(ctx, scriptLook)
	if err != nil {
		return sandbox.Inspection{}, err
	}
	return story(got.text)
}

func runs(ran []toolboxclient.Command) bool { return len(ran) > 0 && ran[0].ExitCode == nil }
