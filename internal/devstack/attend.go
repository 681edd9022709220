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

// attendPeriod is the interval of health checks.
const attendPeriod = 2 * time.Second

// attend limits the log of a component and stops a component that does not answer for Config.Wedged. It returns why the
// component has ended; empty if life is over.
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
			return "omoi stopped the component: no answer for " + silent.Round(time.Second).String()
		}
	}
}

// silence returns how long a component has not answered, given the silence before this check. One check adds at most
// [attendPeriod] and [askLimit], so that sleep of the machine does not count.
func (p part) silence(life context.Context, before time.Duration) time.Duration {
	if p.answers == nil {
		return 0
	}
	began := time.Now()
	err := askOnce(life, p.answers)
	if err == nil {
		p.noted(nil)
		return 0
	}
	if refused(err) {
		p.noted(nil)
		p.cfg.Log.WarnContext(life, "component health check failed", slog.String("component", p.name), slog.String("error", err.Error()))
		return 0
	}
	if fault := tryWrite(p.cfg.Home); hostfault.Is(fault) { // Temporal answers a full disk and a lock alike
		full := task.Errorf(task.CodeUnavailable, "%s cannot write to the disk of %s. Next: free disk space", p.name, p.cfg.Home).WithCause(fault)
		if p.noted(full) {
			p.cfg.Log.WarnContext(life, "component not responding, disk not writable", slog.String("component", p.name), slog.String("error", fault.Error()))
		}
		return 0
	}
	p.noted(task.Errorf(task.CodeUnavailable, "%s refuses writes. omoi restarts %[1]s if the fault lasts.", p.name).WithCause(err))
	return before + attendPeriod + min(time.Since(began), askLimit)
}

// noted passes the result of a check to p.note and reports whether the result is new.
func (p part) noted(fault error) bool { return p.note == nil || p.note(fault) }

// refused reports whether err is an answer of Temporal that a restart would not change. A locked store and a lost
// connection have the code Unavailable.
func refused(err error) bool {
	answer, ok := errors.AsType[serviceerror.ServiceError](err)
	return ok && !slices.Contains([]codes.Code{codes.Unavailable, codes.DeadlineExceeded, codes.Canceled}, answer.Status().Code())
}

// tryWrite writes a page to a file in dir and removes the file.
func tryWrite(dir string) error {
	file, err := os.CreateTemp(dir, ".write-*")
	if err != nil {
		return err
	}
	_, err = file.Write(make([]byte, os.Getpagesize()))
	return errors.Join(err, file.Close(), os.Remove(file.Name()))
}

// boundLog copies a log above limit to path.old, in place of the previous copy, and truncates the log. The component
// continues to append.
func boundLog(path string, limit int64) error {
	info, err := os.Stat(path)
	if err != nil || info.Size() <= limit {
		return nil //nolint:nilerr // a missing log needs no limit
	}
	content, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path+".old", content, 0o600) //nolint:gosec // a log of omoi
	}
	if err != nil {
		return fmt.Errorf("copy log: %w", err)
	}
	return os.Truncate(path, 0)
}
