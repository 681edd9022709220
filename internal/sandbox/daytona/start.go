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

// sessionAgent is the session in which the agent runs. Its first command is the agent.
const sessionAgent = "omoi-agent"

// Start runs the command once for the life of the sandbox: one that is there is adopted, and the
// script takes a lock, so that a doubled start is harmless.
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
	// removed by who runs it, or who comes too late; a start that dies here leaves it to the sandbox's end
	if err := tb.furnish(ctx, dir, prepared(dir, scriptAgent, envFile(cmd))); err != nil {
		return err
	}
	return p.poll(ctx, startPatience, "the command has begun", tb.launcher("sh "+dir+"/run "+dir))
}

// launcher runs the agent's command line until it is seen to run. An answer that was lost, or a
// session that another starter has only just opened, is a reason to try again: who comes second
// finds the lock.
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

// startPatience is how long a session's shell may take to get to its command.
const startPatience = time.Minute

// prepared are the files that a script finds in its folder.
func prepared(dir, script, env string) []file {
	return []file{
		{dir + "/lib", strings.NewReader(library())},
		{dir + "/run", strings.NewReader(scriptText(script))},
		{dir + "/tag", strings.NewReader(newTag() + "\n")},
		{dir + "/env", strings.NewReader(env)},
	}
}

// furnish fills a folder of ours and closes it to others. Those above it are closed already.
func (t *toolbox) furnish(ctx context.Context, dir string, files []file) error {
	if _, err := t.upload(ctx, files...); err != nil {
		return err
	}
	got, err := t.script(ctx, scriptPrivate, dir)
	if err != nil {
		return err
	}
	if got.code != 0 {
		return task.Errorf(task.CodeUnavailable, "the sandbox could not take the command: %s", cut(got.text))
	}
	return nil
}

// Stop ends the started command and its whole tree: it is asked first, and after grace ended.
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
		if err := p.poll(ctx, grace, "the command ends by itself", tb.ended); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return p.poll(ctx, killPatience, "the command is dead", func(ctx context.Context) (bool, error) {
		if _, err := tb.script(ctx, scriptStop, "force"); err != nil {
			return false, err
		}
		return tb.ended(ctx)
	})
}

// killPatience is how long a tree may take to die by force.
const killPatience = 30 * time.Second

func (t *toolbox) ended(ctx context.Context) (bool, error) {
	seen, err := t.agent(ctx)
	return err == nil && seen.Agent == sandbox.StateGone, err
}

// agent says what became of the command. The session says that it runs, at the price of one
// read; everything else is told by the files that the script writes, since a session is lost
// when its daemon dies.
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
