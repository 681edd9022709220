package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	apiclient "github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/savedwork"
	"github.com/omoi-dev/omoi/internal/task"
	"github.com/omoi-dev/omoi/internal/testkit/scribble"
)

// stepScribble changes files in the background.
const stepScribble = "(told() { :; }; " + scribble.Program + ") > /dev/null 2>&1 < /dev/null &"

func bashStep(command string) string { return fmt.Sprintf(`{"bash":%s}`, strconv.Quote(command)) }

// nextAttempts counts the attempts that follow another one, by what they began with.
type nextAttempts struct {
	compared int // with what the attempt before had
	equal    int // to its last checkpoint
	newer    int // than that: a checkpoint was taken after the agent had ended
	torn     int // marked as torn
	none     int // the attempt before left no checkpoint
	lost     time.Duration
	wrong    []string // unmarked torn, older than the last checkpoint, or not what the checkpoint holds
}

func (n *nextAttempts) add(o nextAttempts) {
	n.compared, n.equal, n.newer, n.torn, n.none = n.compared+o.compared, n.equal+o.equal, n.newer+o.newer, n.torn+o.torn, n.none+o.none
	n.lost = max(n.lost, o.lost)
	n.wrong = append(n.wrong, o.wrong...)
}

// anotherAttempt lets a task that has ended have one attempt more, up to its listing.
func (d *drill) anotherAttempt(got task.Task) {
	var err error
	switch {
	case got.Status == task.StatusCompleted:
		var all []apiclient.Checkpoint
		if all, err = d.api.Checkpoints(context.Background(), got.ID); err == nil && len(all) > 0 {
			_, _, err = d.api.Rewind(context.Background(), got.ID, apiclient.RewindRequest{Checkpoint: all[0].ID})
		}
	case got.Status.Final():
		_, _, err = d.api.Retry(context.Background(), got.ID, drillReason)
	default:
		return // over its budget
	}
	if err != nil {
		d.t.Logf("no further attempt of %s: %s", got.ID, err)
		return
	}
	began := func(t task.Task) bool {
		return t.AttemptCount > got.AttemptCount && len(t.Attempts) == t.AttemptCount && d.listingOf(t.Attempts[t.AttemptCount-1]) != nil
	}
	last := d.until(got.ID, "has another attempt, or ends again", func(t task.Task) bool { return began(t) || t.AttemptCount > got.AttemptCount && t.Status.Final() })
	if !last.Status.Final() {
		_, _, err = d.api.Cancel(context.Background(), got.ID, drillReason)
		d.until(got.ID, "ends again", func(t task.Task) bool { return t.Status.Final() })
	}
	if err != nil && task.CodeOf(err) != task.CodeConflict { // it ended by itself
		d.t.Errorf("end %s: %s", got.ID, err)
	}
}

// listingOf returns what the first step of an attempt's script printed; nil: it has not.
func (d *drill) listingOf(a task.Attempt) *scribble.Listing {
	var text string
	err := d.pool.QueryRow(context.Background(), `SELECT event_data ->> 'result' FROM sandbox_events WHERE sandbox_id = $1
		AND event_type = 'agent.tool_result' AND starts_with(event_data ->> 'result', $2) LIMIT 1`, a.SandboxID, scribble.Title).Scan(&text)
	if err != nil {
		return nil
	}
	l := scribble.Parse(text)
	return &l
}

// compareAttempts compares the files with which each attempt of a task began, and those of the attempt before.
func (d *drill) compareAttempts(id string) (out nextAttempts) {
	all := d.task(id).Attempts
	for n := 1; n < len(all); n++ {
		one := d.compare(id, all, n)
		for _, wrong := range one.wrong {
			d.t.Errorf("attempt %d of %s: %s", all[n].Number, id, wrong)
		}
		out.add(one)
	}
	return out
}

// compare compares the files with which one attempt began.
func (d *drill) compare(id string, all []task.Attempt, n int) nextAttempts {
	next := d.listingOf(all[n])
	if next == nil {
		return nextAttempts{} // it did not get so far
	}
	var last string
	err := d.pool.QueryRow(context.Background(), `SELECT attempt || '.' || number FROM checkpoints
		WHERE task_id = $1 AND attempt < $2 AND sealed_at IS NOT NULL ORDER BY attempt DESC, number DESC LIMIT 1`, id, all[n].Number).Scan(&last)
	if errors.Is(err, pgx.ErrNoRows) {
		return nextAttempts{none: 1}
	}
	from := all[n].RestoredFrom
	if err != nil || from != last {
		return nextAttempts{wrong: []string{fmt.Sprintf("began with checkpoint %q, and %q is the last one (%v)", from, last, err)}}
	}
	restored, err := d.api.Checkpoint(context.Background(), id, from)
	if err != nil {
		return nextAttempts{wrong: []string{err.Error()}}
	}
	if restored.Torn {
		return nextAttempts{compared: 1, torn: 1}
	}
	return d.compareWith(id, all[restored.Attempt-1], restored, *next)
}

// compareWith compares the files of an attempt with what the attempt before had, and with its checkpoint.
func (d *drill) compareWith(id string, before task.Attempt, from apiclient.Checkpoint, next scribble.Listing) nextAttempts {
	first := d.listingOf(before)
	if first == nil {
		return nextAttempts{}
	}
	dir := scribblesIn(*first)
	in, out := next.In(dir)
	now, ok := in.Moment(true)
	if wrong := differs(*first, out, now.Change > 0); wrong != "" || !ok {
		return nextAttempts{wrong: []string{fmt.Sprintf("unmarked torn: %s %v", wrong, in)}}
	}
	kept, err := d.checkedOut(id, from.ID)
	if err != nil || !maps.Equal(kept, next.Files) {
		return nextAttempts{wrong: []string{fmt.Sprintf("other files than checkpoint %s: %v, %v, %v", from.ID, kept, next.Files, err)}}
	}
	result := nextAttempts{compared: 1, equal: 1, lost: d.lost(id, before, dir, now)}
	if from.FilesOnly && from.Base > 0 { // the last one of the running agent
		base, err := d.checkedOut(id, strconv.Itoa(from.Attempt)+"."+strconv.Itoa(from.Base))
		part, _ := scribble.Listing{Files: base}.In(dir)
		then, ok := part.Moment(false)
		if err != nil || !ok || then.Change > now.Change {
			return nextAttempts{wrong: []string{fmt.Sprintf("older than the last checkpoint: %v, %v, %v", now, then, err)}}
		}
		if then.Change < now.Change {
			result.equal, result.newer = 0, 1
		}
	}
	return result
}

// scribblesIn returns the folder of [scribble.Program] in an attempt that began with these files.
func scribblesIn(l scribble.Listing) string {
	for n := 1; ; n++ {
		dir := "w" + strconv.Itoa(n)
		if in, _ := l.In(dir); len(in.Files) == 0 {
			return dir
		}
	}
}

// differs compares the files outside of the folder of [scribble.Program] with those that an attempt had: those with which it began, and those
// that its script wrote. complete: it had written them all.
func differs(l, now scribble.Listing, complete bool) string {
	want, wrote := maps.Clone(l.Files), map[string]string{"hello.txt": scribble.File(false, "hello\n"), "notes.txt": scribble.File(false, "not committed\n")}
	staged := maps.Clone(want)
	staged["hello.txt"] = wrote["hello.txt"]
	maps.Copy(want, wrote)
	have := maps.Clone(now.Files)
	delete(have, "feedback") // written later
	for path, is := range want {
		if have[path] != is && (complete || wrote[path] == "") {
			return fmt.Sprintf("%s is %q, not %q", path, have[path], is)
		}
		delete(have, path)
	}
	for path, is := range have {
		return fmt.Sprintf("%s is %q, and nobody wrote it", path, is)
	}
	for path, is := range staged {
		if complete && path != "feedback" && is[0] != 'l' && now.Staged[path] != scribble.Staged(is) {
			return fmt.Sprintf("staged %s is %q, not %q", path, now.Staged[path], scribble.Staged(is))
		}
	}
	return ""
}

// checkedOut returns the files of a checkpoint, as a user gets them.
func (d *drill) checkedOut(id, checkpoint string) (map[string]string, error) {
	clone := filepath.Join(d.dir, "clone-"+d.provider)
	cmd := exec.CommandContext(context.Background(), "sh", "-c", `[ -d "$1" ] || git clone -q "$2" "$1" && cd "$1" && "$3" checkout "$4" --at "$5" >&2 && `+scribble.List,
		"sh", clone, d.at, d.program(), id, checkpoint)
	cmd.Env = environ(d.env)
	var problem strings.Builder
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, problem.String())
	}
	return scribble.Parse(string(out)).Files, nil
}

// lost returns how much older the files are than the last ones that the attempt before had.
func (d *drill) lost(id string, before task.Attempt, dir string, now scribble.Moment) time.Duration {
	if now.Change == 0 {
		return 0 // it had not begun
	}
	all, err := d.api.Work(context.Background(), id)
	if err != nil {
		d.t.Errorf("read saved work: %s", err)
	}
	for _, saved := range all {
		if saved.SandboxID != before.SandboxID || saved.Kind != savedwork.Rescue {
			continue
		}
		content, err := exec.CommandContext(context.Background(), "git", "-C", d.at, "show", saved.Ref+":"+dir+"/clock").Output()
		if at, ok := scribble.Clock(string(content)); err == nil && ok {
			return max(at.At.Sub(now.At), 0)
		}
	}
	var sign time.Time // its work is lost: it lived at least as long
	if d.pool.QueryRow(context.Background(), `SELECT max(created_at) FROM sandbox_events WHERE sandbox_id = $1`, before.SandboxID).Scan(&sign) != nil {
		return 0
	}
	return max(sign.Sub(now.At), 0)
}
