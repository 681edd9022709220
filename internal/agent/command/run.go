package command

import (
	"cmp"
	"context"
	"io"
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

// run is all runs of the program.
type run struct {
	env      agent.Env
	vars     map[string]string
	environ  []string
	log      io.Writer
	every    time.Duration // between two looks at the work tree
	limits   continuous.Limits
	rec      *recorder
	receiver *agent.MessageReceiver
	later    []inbox.Message // what the next run is told
	time     <-chan struct{}
	began    time.Duration // by [uptime.Now]
	next     step
}

// step is what another run of the program is about.
type step struct{ feedback string }

// end is how a run of the program ended.
type end struct {
	proc.Result

	output      string
	stop        string // the limit at which we stopped it
	interrupted bool
}

func (r *run) loop() *continuous.Loop {
	asks := continuous.AsksOf(r.vars)
	asks.Pushed = false // omoi pushes what is committed
	return &continuous.Loop{Env: r.env, Asks: asks, Limits: r.limits, State: &r.rec.place.State, Now: r.rec.standing, Told: r.rec.words()}
}

// work runs the program until the task has an outcome.
func (r *run) work(ctx context.Context) (agent.Result, error) {
	for next := (&step{}); ; {
		r.next = *next
		e, err := r.once(ctx)
		if err != nil {
			return agent.Result{}, err
		}
		var res agent.Result
		if next, res, err = r.after(ctx, e); err != nil || next == nil {
			return res, err
		}
		r.rec.again()
	}
}

// once runs the program to its end.
func (r *run) once(ctx context.Context) (*end, error) {
	r.env.Doing.SetStatus(reporter.StatusRunning)
	p, err := start(ctx, r.env, r.withFeedback(), r.log, r.rec.take)
	if err != nil {
		return nil, agent.Failure(task.ClassInfrastructure, err)
	}
	looking, still := context.WithCancel(ctx)
	defer still()
	go r.lookAround(looking)
	e := r.follow(p)
	still()
	if p.err != nil {
		return nil, task.Invalid("command", "the command cannot be started: %s", p.err.Error())
	}
	r.rec.look("")
	e.output = p.out.text(r.env.Procs.Hide)
	r.rec.tell(e.output)
	r.settle(p)
	r.began = r.rec.save(r.began)
	return e, ctx.Err()
}

// settle settles what the program was told. What it has not read the next run is told; what it was told from its beginning
// on, and has not read, it does not want.
func (r *run) settle(p *program) {
	read, unread := p.heard()
	for i, m := range append(read, unread...) {
		switch {
		case i < len(read):
			r.env.Inbox.Used(m.ID)
		case i < p.first:
			r.env.Drop(m, "the program did not read it")
		default:
			r.later = append(r.later, m)
		}
	}
}

// speaks reports whether the program goes round as we say: one that says and hears nothing would do the same again.
func (r *run) speaks() bool {
	r.rec.mu.Lock()
	defer r.rec.mu.Unlock()
	return (r.rec.spoke || r.env.Config.ReadsMessages) && !r.rec.goes
}

// begin begins a round, once a run.
func (r *run) begin() {
	r.rec.mu.Lock()
	begun := r.rec.begun
	r.rec.begun = true
	r.rec.mu.Unlock()
	if begun {
		return
	}
	prompt := r.next.feedback
	if prompt == "" {
		prompt = r.env.Config.Description
	}
	r.loop().Begin(prompt)
}

// maxFeedback is less than Linux allows a variable.
const maxFeedback = 90 << 10

// withFeedback is the environment of another run: it says why the one before was not the last.
func (r *run) withFeedback() []string {
	if r.next.feedback == "" {
		return r.environ
	}
	text := strings.ReplaceAll(r.next.feedback, "\x00", "\uFFFD")
	return append(slices.Clone(r.environ), "OMOI_FEEDBACK="+strings.ToValidUTF8(text[:min(len(text), maxFeedback)], ""))
}

// lookAround looks at the work tree while the program says nothing. A tree that takes long is looked at less often.
func (r *run) lookAround(ctx context.Context) {
	for delay := r.every; wait.For(ctx, delay) == nil; {
		began := time.Now()
		r.rec.look("")
		delay = max(r.every, 10*time.Since(began))
	}
}

// follow brings to the program what is said to it, and stops it for an interrupt or at a limit.
func (r *run) follow(p *program) *end {
	e, stopping := &end{}, []inbox.Message(nil)
	waiting, late := r.later, (<-chan time.Time)(nil)
	r.later = nil
	r.say(p, waiting)
	p.first = len(p.told)
	for heard := r.receiver.Heard; ; {
		select {
		case m, ok := <-heard:
			switch {
			case !ok:
				heard = nil
			case m.Type == inbox.TypeInterrupt:
				stopping = append(stopping, m)
				p.stop()
			case len(stopping) > 0: // it says how to go on
				r.later = append(r.later, m)
			default:
				r.say(p, []inbox.Message{m})
			}
		case reason := <-r.rec.full:
			e.stop = cmp.Or(e.stop, reason)
			p.stop()
		case <-r.time:
			e.stop = cmp.Or(e.stop, continuous.StopTime)
			p.stop()
		case <-r.rec.told: // nothing more is expected of it
			late = time.After(r.env.Config.Grace)
		case <-late:
			p.stop()
		case <-p.over:
			for _, m := range stopping { // at once, whatever is still to be read
				e.interrupted = true
				r.env.Interrupted(m)
			}
			<-p.drained
			e.Result = p.result
			return e
		}
	}
}

// say tells the program what can be told; the rest is for the next run.
func (r *run) say(p *program, messages []inbox.Message) {
	for _, m := range messages {
		if p.in == nil || p.tell(m) != nil {
			r.later = append(r.later, m)
		}
	}
}
