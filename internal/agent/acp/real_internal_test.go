//nolint:paralleltest // a process has one runner of commands
package acp

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/hook"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/taskcontract"
	"github.com/omoi-dev/omoi/internal/testkit/codingagents"
	modeltest "github.com/omoi-dev/omoi/internal/testkit/model"
)

// TestReal runs turns of the real programs with a scripted model, without a sandbox.
func TestReal(t *testing.T) {
	names := strings.Fields(os.Getenv(codingagents.Asked))
	if len(names) == 0 {
		t.Skip("SKIPPED: the real programs of coding agents are run by make agents-test, which may ask npm for them")
	}
	for _, name := range names {
		d := dialects[name]
		require.NotEmpty(t, d.Name, "%s is not one of %s", name, Names())
		if d.Command != nil {
			t.Logf("%s is not installed by npm", d.Title)
			continue
		}
		program := codingagents.Program{Agent: d.Name, Name: d.Program, Install: d.Install, Pinned: d.Least, Version: d.Version}.Find(t)
		for _, trial := range []struct {
			name string
			do   func(r *live) string
		}{
			{"cancel in an answer", (*live).cancelledInAnswer},
			{"permission", (*live).permitted},
			{"resume in a turn", (*live).resumedInTurn},
			{"resume after a turn", (*live).resumedAfterTurn},
			{"long line", (*live).longLine},
		} {
			t.Run(name+" "+trial.name, func(t *testing.T) {
				began, r := time.Now(), &live{T: t, Dialect: d, program: program}
				codingagents.Note(t, name, trial.name, trial.do(r), time.Since(began))
			})
		}
		if task.RuntimeOf(name).Hooked {
			t.Run(name+" refusal", func(t *testing.T) { (&live{T: t, Dialect: d, program: program}).refused() })
		}
	}
}

// live is a conversation with the real program of an agent.
type live struct {
	*testing.T
	Dialect

	program string
	dir     string
	procs   proc.Runner
	talk    *talk
}

// meets opens the conversation with a model that plays turns.
func (r *live) meets(turns ...modeltest.Turn) *modeltest.Server {
	r.Helper()
	model := modeltest.New(r.T, turns...)
	r.dir = r.TempDir()
	env, err := r.checkEnv(r.logged(), r.dir, model.URL)
	require.NoError(r, err)
	env.Procs = &r.procs
	r.talk, err = Runtime{Dialect: r.Dialect, Silence: checkSilence, CancelWait: checkWait}.open(r.Context(), env)
	require.NoError(r, err)
	r.talk.Receiver = &agent.MessageReceiver{}
	r.Cleanup(func() {
		r.talk.halt()
		r.procs.KillAll()
		r.talk.rec.log.Close()
	})
	return model
}

// logged returns a program that runs the agent's and keeps what it says.
func (r *live) logged() string {
	path := filepath.Join(r.dir, "program")
	require.NoError(r, os.WriteFile(path, fmt.Appendf(nil, "#!/bin/sh\n%s \"$@\" | tee -a %s/frames\n", r.program, r.dir), 0o755))
	return path
}

// turn runs a turn, in a new process if none runs.
func (r *live) turn(text string) *continuous.Failure {
	r.Helper()
	r.talk.end = &turn{}
	require.NoError(r, r.talk.ensure(r.Context()))
	require.NoError(r, r.talk.converse(r.Context(), r.talk.words(text, nil), nil))
	return r.talk.Failure()
}

// lines returns the number of lines that the program has said with a text in them, and the length of the longest one.
func (r *live) lines(with string) (n, longest int) {
	file, err := os.Open(filepath.Join(r.dir, "frames"))
	require.NoError(r, err)
	defer func() { _ = file.Close() }()
	for in := bufio.NewReader(file); ; {
		line, err := in.ReadString('\n')
		if longest = max(longest, len(line)); strings.Contains(line, with) {
			n++
		}
		if err == io.EOF {
			return n, longest
		}
		require.NoError(r, err)
	}
}

// gone checks that no process is left.
func (r *live) gone() {
	r.Helper()
	r.talk.halt()
	killed, left := r.procs.KillAll()
	require.Zero(r, killed+left, "processes were left")
}

// cancelledInAnswer cancels a turn in the middle of an answer of the model, and continues the session.
func (r *live) cancelledInAnswer() string {
	begun := make(chan struct{})
	r.meets(
		modeltest.Turn{Text: "The answer is 42, I think.", Begun: begun, Middle: r.Context().Done()},
		modeltest.Turn{Text: "It is still 42.", Expect: modeltest.Saying("Say hello.")},
	)
	go func() {
		<-begun
		r.talk.rec.enough("test")
	}()
	r.turn("")
	require.Equal(r, "test", r.talk.end.stop)
	require.NotNil(r, r.talk.end.result, "the turn did not end when it was cancelled")
	r.gone()
	require.Nil(r, r.turn("Go on."))
	return "no process left"
}

// resumedInTurn kills all processes of the agent in a tool call, and continues the session.
func (r *live) resumedInTurn() string {
	r.meets(
		modeltest.Turn{Text: "The answer is 42.", Tools: []modeltest.Tool{modeltest.Shell("echo here")}},
		modeltest.Turn{Tools: []modeltest.Tool{modeltest.Shell("echo begun > begun; sleep 1000; true")}},
		modeltest.Turn{Text: "It is still 42.", Expect: modeltest.Saying("The answer is 42.")},
	)
	killed := make(chan struct{})
	go func() {
		defer close(killed)
		for range time.Tick(10 * time.Millisecond) {
			if _, err := os.Stat(filepath.Join(r.talk.where.Work, "begun")); err == nil || r.Context().Err() != nil {
				r.procs.KillAll()
				return
			}
		}
	}()
	require.NotNil(r, r.turn(""))
	<-killed
	require.True(r, r.talk.end.ended)
	return r.continues()
}

// resumedAfterTurn ends the program after a turn, and continues the session.
func (r *live) resumedAfterTurn() string {
	r.meets(
		modeltest.Turn{Text: "The answer is 42."},
		modeltest.Turn{Text: "It is still 42.", Expect: modeltest.Saying("The answer is 42.")},
	)
	require.Nil(r, r.turn(""))
	r.gone()
	return r.continues()
}

// continues runs a turn in a new process, and says in which session.
func (r *live) continues() string {
	r.Helper()
	session := r.talk.place.SessionID
	require.NotEmpty(r, session)
	require.Nil(r, r.turn("Go on."))
	require.Equal(r, session, r.talk.place.SessionID)
	return "same session"
}

// permitted has the agent ask for a permission.
func (r *live) permitted() string {
	change := asks[r.Name]
	if change == nil {
		return "never asked"
	}
	tool := change(r)
	r.meets(modeltest.Turn{Tools: []modeltest.Tool{tool}}, modeltest.Turn{Text: "Done."})
	require.Nil(r, r.turn(""))
	asked, _ := r.lines(`"session/request_permission"`)
	require.Positive(r, asked, "the agent asked for no permission")
	text, err := os.ReadFile(filepath.Join(r.talk.where.Work, "permitted"))
	require.NoError(r, err, "the command did not run")
	require.Equal(r, "yes\n", string(text))
	return "asked, and the command ran"
}

// refused has omoi refuse a command for which the agent asks: it does not run, and the model reads the reason.
func (r *live) refused() {
	turns := []modeltest.Turn{{Tools: []modeltest.Tool{modeltest.Shell(permittedCommand)}}, {Text: "Done.", Expect: modeltest.Saying("Do not run these commands")}}
	if r.Name == "gemini" { // its turn continues after a refusal, and it reads messages after the turn only
		turns = slices.Insert(turns, 1, modeltest.Turn{Text: "It was refused."})
	}
	r.meets(turns...)
	r.talk.rec.refuses = r.talk.refuses
	require.NoError(r, hook.Open(r.talk.Env.Config.Dir, hook.Limits{Contract: taskcontract.Contract{ForbiddenCommands: []string{"echo yes"}}, Workspace: r.talk.where.Work}))
	require.Nil(r, r.turn(""))
	require.Len(r, r.talk.Later, 1)
	require.Nil(r, r.turn(r.talk.Later[0].Content))
	require.Equal(r, "Done.", r.talk.rec.now().said)
	require.NoFileExists(r, filepath.Join(r.talk.where.Work, "permitted"))
}

// permittedCommand is the command for which agents ask.
const permittedCommand = "echo yes > permitted"

// asks has the agents ask for a permission: those that omoi lets ask, by a command, and Codex in another mode.
var asks = map[string]func(r *live) modeltest.Tool{
	"codex": func(r *live) modeltest.Tool {
		r.Mode = "workspace-write"
		return modeltest.Tool{Name: "exec_command", Input: map[string]any{"cmd": permittedCommand, "sandbox_permissions": "require_escalated", "justification": "Test"}}
	},
	"copilot": shell, "gemini": shell, "qwen": shell, "opencode": shell,
}

func shell(*live) modeltest.Tool { return modeltest.Shell(permittedCommand) }

// longLine has the model say a long text at once.
func (r *live) longLine() string {
	text := longText(12_000_000)
	r.meets(modeltest.Turn{Text: text})
	f := r.turn("")
	require.Nil(r, f)
	_, longest := r.lines("")
	require.Equal(r, len(text), len(r.talk.rec.now().said))
	return fmt.Sprintf("%d MB", longest/1_000_000)
}

// longText returns a text of hexadecimal digits that does not repeat itself, which an agent would take for a loop.
func longText(length int) string {
	text := make([]byte, length/2)
	_, _ = rand.NewChaCha8([32]byte{}).Read(text)
	return hex.EncodeToString(text)
}
