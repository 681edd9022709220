package localgit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

const pullsFolder = "omoi/pulls"

// EnsurePull returns the pull request of a head branch and updates its text, or creates it. A branch has one pull
// request for good. Number, URL and State of the argument are ignored; an empty Base means the default branch. An
// unknown branch is [task.CodeInvalid].
func (h *Host) EnsurePull(ctx context.Context, repo scm.Repo, pull scm.PullRequest) (scm.PullRequest, error) {
	r, err := h.open(ctx, repo)
	if err != nil {
		return scm.PullRequest{}, err
	}
	if _, err := r.mustExist(ctx, pull.Head); err != nil {
		return scm.PullRequest{}, err
	}
	if pull.Base, err = r.baseBranch(ctx, pull.Base); err != nil {
		return scm.PullRequest{}, err
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return scm.PullRequest{}, err
	}
	defer unlock()
	return r.ensurePull(pull)
}

func (r *repository) ensurePull(pull scm.PullRequest) (_ scm.PullRequest, err error) {
	rec, err := r.records()
	if err != nil {
		return scm.PullRequest{}, err
	}
	defer func() { err = errors.Join(err, rec.Close()) }()
	known, err := rec.pulls()
	if err != nil {
		return scm.PullRequest{}, err
	}
	next := 1
	for _, p := range known {
		if p.Head == pull.Head {
			return rec.refresh(p, pull.Body)
		}
		next = max(next, p.Number+1)
	}
	pull.Number, pull.State = next, "open"
	pull.URL = fmt.Sprintf("file://%s#pull/%d", r.path, next)
	return pull, rec.writePull(pull)
}

// refresh updates the text of a pull request.
func (r *records) refresh(p scm.PullRequest, body string) (scm.PullRequest, error) {
	if body == "" || p.Body == body {
		return p, nil
	}
	p.Body = body
	return p, r.writePull(p)
}

// pulls reads all records. It ignores files with other names.
func (r *records) pulls() ([]scm.PullRequest, error) {
	if err := r.folder(pullsFolder); err != nil {
		return nil, fmt.Errorf("create the folder of pull requests: %w", err)
	}
	entries, err := fs.ReadDir(r.FS(), pullsFolder)
	if err != nil {
		return nil, fmt.Errorf("list pull requests: %w", err)
	}
	var pulls []scm.PullRequest
	for _, e := range entries {
		if !isRecord(e) {
			continue
		}
		var p scm.PullRequest
		raw, err := r.ReadFile(pullsFolder + "/" + e.Name())
		if err == nil {
			err = json.Unmarshal(raw, &p)
		}
		if err != nil {
			return nil, fmt.Errorf("read pull request %s: %w", e.Name(), err)
		}
		pulls = append(pulls, p)
	}
	return pulls, nil
}

func isRecord(e fs.DirEntry) bool {
	number, found := strings.CutSuffix(e.Name(), ".json")
	_, err := strconv.Atoi(number)
	return found && err == nil && e.Type().IsRegular()
}

// writePull writes the record atomically.
func (r *records) writePull(p scm.PullRequest) error {
	raw, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return task.Errorf(task.CodeInternal, "Cannot write the pull request.").WithCause(err)
	}
	draft, name := pullsFolder+"/draft", pullsFolder+"/"+strconv.Itoa(p.Number)+".json"
	if err = r.WriteFile(draft, append(raw, '\n'), 0o644); err == nil {
		err = errors.Join(r.give(draft), r.Rename(draft, name))
	}
	if err != nil {
		return fmt.Errorf("write pull request %d: %w", p.Number, err)
	}
	return nil
}
