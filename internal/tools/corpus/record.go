package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/event"
	"github.com/omoi-dev/omoi/internal/supervise/corpus"
)

const (
	look    = 200 * time.Millisecond
	longest = 5 * time.Minute
)

type recorder struct {
	api  *client.Client
	repo string
}

// repository makes one with a first commit in it.
func repository(ctx context.Context) (string, error) {
	dir, err := os.MkdirTemp("", "corpus-")
	if err != nil {
		return "", fmt.Errorf("make a folder: %w", err)
	}
	script := `chmod 755 . && git init -q -b main && printf '# app\n' > README.md && git add -A &&
		git -c user.name=omoi -c user.email=omoi@localhost commit -qm 'Begin' && git config receive.denyCurrentBranch ignore`
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("make a repository: %w: %s", err, out)
	}
	return dir, nil
}

// record runs one scenario and writes its trajectory.
func (r *recorder) record(ctx context.Context, file string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	name, s, err := load(file)
	if err != nil {
		return "", err
	}
	in, err := s.task(r.repo)
	if err != nil {
		return "", err
	}
	made, _, err := r.api.CreateTask(ctx, in, "")
	if err != nil {
		return "", err
	}
	events, err := r.watch(ctx, made.ID, s)
	if err != nil {
		return "", fmt.Errorf("task %s: %w", made.ID, err)
	}
	_, _, _ = r.api.Cancel(ctx, made.ID, "It is recorded.") // it may be over
	t, err := corpus.Of(&made, events, corpus.Note{Name: name, Label: s.Label, Reason: s.Reason, Twin: s.Twin, Apart: s.Apart, Speed: s.Speed})
	if err != nil {
		return "", err
	}
	path := filepath.Join(testdata, "corpus")
	_ = os.Remove(filepath.Join(path, name+".jsonl"))
	path, err = corpus.Save(path, &t)
	return fmt.Sprintf("%s: %d events", path, len(t.Events)), err
}

// watch takes the events in until the task has ended, or until it is to be stopped.
func (r *recorder) watch(ctx context.Context, id string, s *scenario) ([]event.Event, error) {
	var events []event.Event
	cursor, sent := "", 0
	var began time.Time
	for {
		page, err := r.api.Events(ctx, id, cursor, look)
		if err != nil {
			return nil, err
		}
		events = append(events, page.Items...)
		if began.IsZero() && len(events) > 0 {
			began = time.Now()
		}
		if sent, err = r.answer(ctx, events, s, sent); err != nil {
			return nil, err
		}
		over := s.StopS > 0 && !began.IsZero() && time.Since(began).Seconds() >= s.StopS
		if page.NextCursor == nil || over {
			return events, nil
		}
		cursor = *page.NextCursor
	}
}

// answer says the next thing once the agent waits for it.
func (r *recorder) answer(ctx context.Context, events []event.Event, s *scenario, sent int) (int, error) {
	waits, box := 0, ""
	for i := range events {
		if events[i].Type == event.AgentWaiting {
			waits, box = waits+1, events[i].SandboxID
		}
	}
	if waits <= sent || sent >= len(s.Send) {
		return sent, nil
	}
	_, err := r.api.SendMessage(ctx, box, client.CreateMessageRequest{Content: s.Send[sent]}, "")
	return sent + 1, err
}
