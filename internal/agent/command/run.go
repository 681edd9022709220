package command

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/omoi-dev/omoi/internal/agent"
	"github.com/omoi-dev/omoi/internal/agent/continuous"
	"github.com/omoi-dev/omoi/internal/agent/inbox"
	"github.com/omoi-dev/omoi/internal/agent/proc"
	"github.com/omoi-dev/omoi/internal/agent/reporter"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/wait"
)

// run is all runs of the program; each is a turn of its [continuous.Driver].
type run struct {
	*continuous.Driver

	log   io.Writer
	every time.Duration // interval between comparisons of the work tree
	rec   *recorder

	feedback string // reason for a further run
	end      *end   // end of the newest run
}

// end is the end of one run of the program.
type end struct {
	proc.Result

	output      string
	stop        string // limit at which omoi stopped the program; empty: none
	interrupted bool
}

// Turn runs the program to its end. An outcome that the program reported has priority over a limit or an interrupt.
func (r *run) Turn(ctx context.Context, step continuous.Step) (*continuous.Turn, error) {
	r.Env.Doing.SetStatus(reporter.StatusRunning)
	r.rec.again()
	r.feedback = step.Text
	if step.FromMessage() {
		r.Later = slices.Insert(r.Later, 0, step.Of)
	}
	if !r.Once() {
		r.begin()
	}
	p, err := start(ctx, r.Env, r.withFeedback(), r.log, r.rec.take)
	if err != nil {
		return nil, agent.Failure(task.ClassInfrastructure, err)
	}
	done := r.Env.Doing.Tool("command")
	looking, still := context.WithCancel(ctx)
	defer still()
	go r.lookAround(looking)
	r.end = r.follow(p)
	done()
	still()
	if p.Err != nil {
		return nil, task.Invalid("command", "Cannot start the command: %s", p.Err.Error())
	}
	r.rec.look("")
	r.end.output = p.out.text(r.Env.Procs.Hide)
	r.rec.tell(r.end.output)
	r.settle(p)
	r.Save()
	if r.rec.claim() != nil {
		return &continuous.Turn{}, ctx.Err()
	}
	return &continuous.Turn{Stop: r.end.stop, Interrupted: r.end.interrupted}, ctx.Err()
}

// Close does nothing, because a turn ends with the program.
func (*run) Close(context.Context) (*continuous.Failure, bool) { return nil, false }

// settle settles the messages that were sent to the program. The next run gets unread ones, except those that the
// program had from its start and did not read.
func (r *run) settle(p *program) {
	for i, told := range p.told {
		switch {
		case told.end <= p.Heard: // read completely
			r.Env.Inbox.Used(told.message.ID)
		case i < p.first:
			r.Env.Drop(told.message, "the program did not read it")
		default:
			r.Later = append(r.Later, told.message)
		}
	}
}

// Once reports whether the program neither prints event lines nor reads messages: another run would do the same again.
func (r *run) Once() bool {
	r.rec.mu.Lock()
	defer r.rec.mu.Unlock()
	return !r.rec.spoke && r.Deaf
}

// begin begins an iteration of continuous mode, once a run.
func (r *run) begin() {
	if r.Env.Config.Continuous && r.rec.first(&r.rec.begun) {
		r.Begin(cmp.Or(r.feedback, r.Env.Config.Description))
	}
}

// maxFeedback is the maximum bytes of the feedback variable, below the 128 KiB that Linux allows.
const maxFeedback = 90 << 10

// withFeedback returns the environment with the reason for a further run.
func (r *run) withFeedback() []string {
	if r.feedback == "" {
		return r.Environ
	}
	text := strings.ReplaceAll(r.feedback, "\x00", "\uFFFD")
	return append(slices.Clone(r.Environ), "OMOI_FEEDBACK="+strings.ToValidUTF8(text[:min(len(text), maxFeedback)], ""))
}

// lookAround compares the work tree at intervals. The interval grows to ten times the duration of a comparison.
func (r *run) lookAround(ctx context.Context) {
	for delay := r.every; wait.For(ctx, delay) == nil; {
		began := time.Now()
		r.rec.look("")
		delay = max(r.every, 10*time.Since(began))
	}
}

// follow delivers messages to the program, and stops it for an interrupt or at a limit.
func (r *run) follow(p *program) *end {
	e, stopping := &end{}, (*inbox.Message)(nil)
	waiting, late := r.Later, (<-chan time.Time)(nil)
	r.Later = nil
	r.say(p, waiting)
	p.first = len(p.told)
	for heard := r.Receiver.Heard; ; {
		select {
		case m, ok := <-heard:
			switch {
			case !ok:
				heard = nil
			case m.Type == inbox.TypeInterrupt: // later messages say how to continue
				stopping, heard = &m, nil
				p.stop()
			default:
				r.say(p, []inbox.Message{m})
			}
		case reason := <-r.rec.full:
			e.stop = cmp.Or(e.stop, reason)
			p.stop()
		case <-r.Time:
			e.stop = cmp.Or(e.stop, continuous.StopTime)
			p.stop()
		case <-r.rec.told: // the program has nothing left to do
			late = time.After(r.Env.Config.Grace)
		case <-late:
			p.stop()
		case <-p.Over:
			if e.interrupted = stopping != nil; e.interrupted { // immediately, before the rest of the output
				r.Env.Interrupted(*stopping)
			}
			<-p.Drained
			e.Result = p.Result
			return e
		}
	}
}

// say sends messages to the program. Messages that cannot be sent wait for the next run.
func (r *run) say(p *program, messages []inbox.Message) {
	for _, m := range messages {
		if p.In == nil || p.tell(m) != nil {
			r.Later = append(r.Later, m)
		}
	}
}

// Save writes the state and counts the working time until now.
func (r *run) Save() {
	r.rec.mu.Lock()
	defer r.rec.mu.Unlock()
	r.rec.place.Count()
	kept := *r.rec.place
	kept.Spent = kept.Spent.plus(r.rec.now)
	if err := kept.save(); err != nil {
		r.Env.Log.Warn("save agent state failed, a restart continues from an older one", slog.Any("error", err))
	}
}

// Standing returns the current state of the program's work.
func (r *run) Standing() continuous.Standing {
	r.rec.mu.Lock()
	defer r.rec.mu.Unlock()
	all, p := r.rec.place.Spent.plus(r.rec.now), r.rec.place
	now := continuous.Standing{Cost: all.Cost, Bill: all.data(), Session: r.Env.SessionID, Turns: p.Turn, Files: p.Files, Said: r.rec.said}
	if r.rec.outcome != nil {
		now.Told = r.rec.outcome.Data
	}
	return now
}
