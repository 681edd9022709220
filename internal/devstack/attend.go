package devstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc/codes"

	"github.com/omoi-dev/omoi/internal/hostfault"
	"github.com/omoi-dev/omoi/internal/task"
)

// attendPeriod is the time between two looks at a part that runs.
const attendPeriod = 2 * time.Second

// attend bounds the log of a part, and ends a part that runs and does not answer. It returns when
// the part has ended, and says why, or when life is over.
func (p part) attend(life context.Context, c *child) (reason string) {
	tick := time.NewTicker(attendPeriod)
	defer tick.Stop()
	var silent time.Duration
	for {
		select {
		case <-life.Done():
			return ""
		case <-c.done:
			if c.err == nil {
				return "exit status 0"
			}
			return c.err.Error()
		case <-tick.C:
		}
		if err := boundLog(c.log, p.cfg.LogLimit); err != nil {
			p.cfg.Log.WarnContext(life, "rotate log failed", slog.String("component", p.name), slog.String("error", err.Error()))
		}
		if silent = p.silence(life, silent); silent >= p.cfg.Wedged {
			p.cfg.Log.WarnContext(life, "component not responding, restarting", slog.String("component", p.name), slog.Duration("silent_for", silent))
			if err := c.stop(life, askLimit); err != nil {
				p.cfg.Log.ErrorContext(life, "stop component failed", slog.String("component", p.name), slog.String("error", err.Error()))
			}
			return "omoi stopped the part: no answer for " + silent.Round(time.Second).String()
		}
	}
}

// silence is how long a part has not answered by now, of the time in which omoi itself ran: a look
// counts no more than it may take, however long the machine slept in it.
func (p part) silence(life context.Context, before time.Duration) time.Duration {
	if p.answers == nil {
		return 0
	}
	began := time.Now()
	err := patiently(life, p.answers)
	if err == nil {
		p.noted(nil)
		return 0
	}
	if refused(err) {
		p.noted(nil)
		p.cfg.Log.WarnContext(life, "component health check failed", slog.String("component", p.name), slog.String("error", err.Error()))
		return 0
	}
	if fault := tryWrite(p.cfg.Home); hostfault.Is(fault) { // Temporal answers a full disk as it answers a lock
		full := task.Errorf(task.CodeUnavailable, "%s cannot write to the disk of %s.", p.name, p.cfg.Home).WithCause(fault)
		if p.noted(full) {
			p.cfg.Log.WarnContext(life, "component not responding, disk not writable", slog.String("component", p.name), slog.String("error", fault.Error()))
		}
		return 0
	}
	p.noted(task.Errorf(task.CodeUnavailable, "%s does not take writes. If that lasts, omoi restarts it.", p.name).WithCause(err))
	return before + attendPeriod + min(time.Since(began), askLimit)
}

// noted passes on what a look found, and reports whether that is news.
func (p part) noted(fault error) bool { return p.note == nil || p.note(fault) }

// refused reports whether an error is an answer, which a restart does not change. A store that is locked, and a
// connection that is lost, are Unavailable.
func refused(err error) bool {
	answer, ok := errors.AsType[serviceerror.ServiceError](err)
	return ok && !slices.Contains([]codes.Code{codes.Unavailable, codes.DeadlineExceeded, codes.Canceled}, answer.Status().Code())
}

// tryWrite writes a page to a disk and removes it.
func tryWrite(dir string) error {
	file, err := os.CreateTemp(dir, ".write-*")
	if err != nil {
		return err
	}
	_, err = file.Write(make([]byte, os.Getpagesize()))
	return errors.Join(err, file.Close(), os.Remove(file.Name()))
}

// boundLog moves a log that is longer than limit aside, where it replaces the one before. The
// part goes on writing to the same file, to its end.
func boundLog(path string, limit int64) error {
	info, err := os.Stat(path)
	if err != nil || info.Size() <= limit {
		return nil //nolint:nilerr // a log that is not there is not too long
	}
	content, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path+".old", content, 0o600) //nolint:gosec // a log of ours
	}
	if err != nil {
		return fmt.Errorf("keep log: %w", err)
	}
	return os.Truncate(path, 0)
}
