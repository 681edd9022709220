package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/retention"
	"github.com/omoi-dev/omoi/internal/savedwork"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// SavedWork reads the saved work of attempts.
type SavedWork interface {
	SavedWork(ctx context.Context, organizationID, taskID string) ([]savedwork.SavedWork, error)
	// BranchKept returns [task.CodeGone] if retention has removed the branch of a task.
	BranchKept(ctx context.Context, taskID string) error
	// SavedPiece returns a piece of a text, counted from 0; empty after the end.
	SavedPiece(ctx context.Context, taskID, textID string, piece int) ([]byte, error)
}

// keptType is the content type of patches, bundles and packs: a patch may hold any bytes.
const keptType = "application/octet-stream"

func (a *API) registerWork() {
	work := a.group(tagTasks, "/api/v1/tasks/{id}/saved-work")
	add(work.on(accessRead, "GET", "list-saved-work", "List saved work"), a.listWork, details{
		more:  "Where the work of each attempt is, first attempt first, with the command that gets it.",
		fails: []int{http.StatusGone},
	})
	add(work.on(accessRead, "GET /{attempt}", "get-saved-work", "Download saved work"), a.getWork, details{
		more: "The patch or git bundle of an attempt; 409 says how to fetch what the repository has, or that it is still being saved.",
		text: keptType, fails: []int{http.StatusConflict, http.StatusGone},
	})
}

func (a *API) listWork(ctx context.Context, in *listOfIn) (*pageOut[client.SavedWork], error) {
	all, err := a.workOf(ctx, in.ID)
	// At most one is on the branch and one beside it, whose kind may change.
	return whole(in.PageRequest, func(w client.SavedWork) string {
		return strconv.Itoa(w.Attempt) + " " + strconv.FormatBool(w.Kind == savedwork.Branch)
	}, all, err)
}

// workOf lists the saved work of a task, each with the command that fetches it.
func (a *API) workOf(ctx context.Context, id string) ([]savedwork.SavedWork, error) {
	t, err := a.readTask(ctx, id)
	if err != nil {
		return nil, err
	}
	found, err := a.deps.SavedWork.SavedWork(ctx, callerOf(ctx).organization, t.ID)
	if found == nil {
		found = []savedwork.SavedWork{}
	}
	for n, one := range found {
		found[n].Next = nextOf(t, one)
	}
	return found, err
}

// nextOf returns the command that fetches saved work.
func nextOf(t client.Task, one savedwork.SavedWork) string {
	switch {
	case one.RemovedAt != nil:
		return ""
	case one.Kept():
		return "omoi work " + t.ID + " --attempt " + strconv.Itoa(one.Attempt) + " --patch work." + one.Kind
	case one.Ref == "":
		return ""
	case strings.HasPrefix(t.Repo, "/"):
		return "git -C " + scm.Quoted(t.Repo) + " show " + scm.Quoted(one.Ref)
	}
	return "git fetch origin " + scm.Quoted(one.Ref) + " && git show FETCH_HEAD"
}

type workIn struct {
	IDPath
	Attempt int `path:"attempt" minimum:"1" maximum:"1000000" doc:"Number of the attempt that left the work, from 1."`
}

func (a *API) getWork(ctx context.Context, in *workIn) (*huma.StreamResponse, error) {
	found, err := a.workOf(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	kept, err := keptOf(found, in)
	if err != nil {
		return nil, err
	}
	n := -1
	return a.sendPieces(ctx, keptType, "saved work of task "+in.ID, func(ctx context.Context) ([]byte, error) {
		n++
		return a.deps.SavedWork.SavedPiece(ctx, in.ID, kept.Text, n)
	})
}

// keptOf returns an attempt's work that omoi stores, or an error that says where else the work is.
func keptOf(found []savedwork.SavedWork, in *workIn) (savedwork.SavedWork, error) {
	var last *savedwork.SavedWork
	for n, one := range found {
		if one.Attempt != in.Attempt {
			continue
		}
		if one.RemovedAt != nil {
			kind := retention.Patches
			if !one.Kept() {
				kind = retention.Refs
			}
			return one, retention.Removed(kind, "attempt "+strconv.Itoa(in.Attempt), *one.RemovedAt)
		}
		if one.Kept() {
			return one, nil
		}
		last = &found[n] // work beside the branch follows the branch
	}
	switch {
	case last == nil:
		return savedwork.SavedWork{}, task.Errorf(task.CodeNotFound,
			"Task %s has no saved work of attempt %d. Next: omoi work %s", in.ID, in.Attempt, in.ID)
	case last.Kind == savedwork.Lost:
		return savedwork.SavedWork{}, task.Errorf(task.CodeGone, "The work of attempt %d is lost%s.",
			in.Attempt, lostWords(*last))
	case last.Kind == savedwork.Saving:
		return savedwork.SavedWork{}, task.Errorf(task.CodeConflict,
			"The work of attempt %d is still being saved. Next: omoi work %s, in a moment", in.Attempt, in.ID).WithKind(task.KindInvalidState)
	case last.Kind == savedwork.None:
		return savedwork.SavedWork{}, task.Errorf(task.CodeNotFound, "Attempt %d of task %s left no work.",
			in.Attempt, in.ID)
	}
	return savedwork.SavedWork{}, task.Errorf(task.CodeConflict,
		"The work of attempt %d is in the repository; omoi stores no patch of it. Next: %s", in.Attempt, last.Next).WithKind(task.KindInvalidState)
}

// lostWords returns since when work is lost, or why.
func lostWords(one savedwork.SavedWork) string {
	if one.LostSince != nil {
		return " since " + one.LostSince.UTC().Format(time.RFC3339) + ", when its sandbox last reported"
	}
	if len(one.Notes) > 0 {
		return ": " + strings.TrimRight(one.Notes[0], ".")
	}
	return ""
}
