package activities

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"time"
	"unicode/utf8"

	"go.temporal.io/sdk/activity"

	"github.com/omoi-dev/omoi/internal/agent/agentconfig"
	"github.com/omoi-dev/omoi/internal/contract"
	"github.com/omoi-dev/omoi/internal/sandbox"
	"github.com/omoi-dev/omoi/internal/savedwork"
	"github.com/omoi-dev/omoi/internal/scm"
	"github.com/omoi-dev/omoi/internal/task"
)

// Salvage saves what would be lost with the sandbox: unpushed commits and uncommitted changes. It runs at every kind of
// end, and returns an earlier result if there is one. While the sandbox is unreachable it fails and is retried.
func (a *Activities) Salvage(ctx context.Context, in contract.SandboxRef) (contract.SalvageResult, error) {
	at, stop := beating[collectPoint](ctx)
	defer stop()
	p, err := a.here(ctx, in.SandboxID)
	if err != nil {
		return contract.SalvageResult{}, err
	}
	if done := p.row.Salvage; done != nil {
		return contract.SalvageResult{Kind: done.Kind, Files: done.Files}, nil
	}
	saved, err := a.salvage(ctx, p, at)
	if err != nil {
		return contract.SalvageResult{}, ofSandbox(err)
	}
	return contract.SalvageResult{Kind: saved.Kind, Files: saved.Files}, a.deps.Ledger.SaveSalvage(ctx, in.SandboxID, saved)
}

// salvage stops the processes, gathers the work and saves it. If no agent ever ran, there is no work.
func (a *Activities) salvage(ctx context.Context, p place, at *progress[collectPoint]) (task.Salvage, error) {
	none := task.Salvage{Kind: task.SalvageNone}
	if !p.exec() {
		return none, nil
	}
	seen, err := p.inspect(ctx)
	if err != nil {
		return none, err
	}
	ran := seen.Started || p.row.StartedAt != nil || p.row.Head > 0
	switch {
	case !ran:
		return none, nil
	case seen.State == sandbox.StateGone, p.row.TaskID == "": // without its task there is no repository for its work
		since := a.lastContact(ctx, p.row)
		return task.Salvage{Kind: task.SalvageLost, LostSince: &since}, nil
	}
	work, err := a.deps.Tasks.Work(ctx, p.row.TaskID)
	if err != nil {
		return none, fmt.Errorf("read task %s: %w", p.row.TaskID, err)
	}
	if task.RuntimeOf(work.Agent).SelfConnecting {
		return none, nil
	}
	if work.Suspended && !at.get().Stopped {
		if err := p.provider.WriteFile(ctx, p.labels, agentconfig.AfterCall, 0o644, bytes.NewReader(nil)); err != nil { // the agent stops at once
			a.log.DebugContext(ctx, "ask to stop after the tool call failed", slog.Any("error", err))
		}
	}
	if err := a.quiet(ctx, p, at); err != nil {
		return none, err
	}
	got, err := a.gather(ctx, p, work, at)
	if err != nil {
		return none, err
	}
	return a.save(ctx, p, work, got)
}

// quiet ends the agent, so that the gathered files do not change.
func (a *Activities) quiet(ctx context.Context, p place, at *progress[collectPoint]) error {
	if at.get().Stopped {
		return nil
	}
	if err := a.halt(ctx, p); err != nil {
		return err
	}
	at.set(collectPoint{Stopped: true})
	return nil
}

// save saves gathered work: commits on the task's branch, changes under a rescue ref, and as text what the repository
// refuses.
func (a *Activities) save(ctx context.Context, p place, work task.Work, got agentconfig.Collected) (task.Salvage, error) {
	out := task.Salvage{Kind: task.SalvageNone, Files: max(got.Files, 0), Bytes: max(got.Bytes, 0), Notes: got.Notes}
	if got.Bundle != "" && work.Repo != "" {
		ref, err := a.bringHome(ctx, p, work, got)
		if err != nil {
			return a.fallback(ctx, p, got, out, err)
		}
		if ref != "" {
			out.Kind, out.Ref, out.Head = task.SalvageRef, ref, unpushed(got)
		}
	}
	if got.Patch == "" || out.Kind == task.SalvageRef {
		return out, nil
	}
	return a.keepPatch(ctx, p, out)
}

// bringHome pushes commits to the branch if this is the newest attempt and the branch has not moved. It pushes other
// commits and all uncommitted changes to a rescue ref.
func (a *Activities) bringHome(ctx context.Context, p place, work task.Work, got agentconfig.Collected) (ref string, err error) {
	rescue := got.Rescue != ""
	if got.Commits > 0 && !untouched(work, got) {
		pushed, err := a.pushNewest(ctx, p, work)
		if err != nil {
			return "", err
		}
		rescue = rescue || !pushed
	}
	if !rescue {
		return "", nil
	}
	host, err := a.host(work)
	if err != nil {
		return "", err
	}
	name := work.TaskID + "/" + strconv.Itoa(p.row.Attempt)
	err = a.bundle(ctx, p, func(r io.Reader) error {
		ref, err = host.Rescue(ctx, scm.Repo(work.Repo), name, r)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("rescue work as %s: %w", name, err)
	}
	return ref, nil
}

// unpushed returns the commit that the branch does not have; empty if the branch has all.
func unpushed(got agentconfig.Collected) string {
	if got.Commits == 0 {
		return ""
	}
	return got.Head
}

// untouched reports whether a validator left the branch unchanged.
func untouched(work task.Work, got agentconfig.Collected) bool {
	return work.Validates && got.Head != "" && got.Head == work.WorkHead
}

// pushNewest pushes for the newest attempt only: a later attempt has checked out the branch, which must not move under
// it. A validator never moves the branch, since its changes are not the work that it validated. pushNewest reports
// whether the branch holds the commits.
func (a *Activities) pushNewest(ctx context.Context, p place, work task.Work) (bool, error) {
	if p.row.Attempt < work.Attempt || work.Validates {
		return false, nil
	}
	head, err := a.push(ctx, p, work)
	if task.CodeOf(err) == task.CodeConflict {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("push %s: %w", work.Branch, err)
	}
	return true, a.saveHead(ctx, p, work, head)
}

// fallback stores the bundle itself if the repository refuses it: at once if the refusal is final, else in the second
// half of the salvage window.
func (a *Activities) fallback(ctx context.Context, p place, got agentconfig.Collected, out task.Salvage, cause error) (task.Salvage, error) {
	if ctx.Err() != nil || (!final(codeOf(cause)) && waited(ctx)+task.AfterOf(cause) < a.cfg.SalvageWindow/2) {
		return out, cause
	}
	a.log.WarnContext(ctx, "push saved work failed, storing a bundle instead", slog.String("sandbox_id", p.row.ID), slog.String("error", a.brief(cause.Error())))
	ref, err := a.keepBundle(ctx, p)
	if errors.Is(err, errTooLarge) {
		return lost(out, fmt.Sprintf("The repository rejects the work under any ref, and omoi stores at most %d MiB elsewhere.", maxKeptBundle>>20)), nil
	}
	if err != nil {
		return out, fmt.Errorf("keep bundle: %w", err)
	}
	out.Kind, out.Ref, out.Head = task.SalvagePatch, ref, unpushed(got)
	return out, nil
}

// lastContact returns when a sandbox was last known to be reachable, by the store.
func (a *Activities) lastContact(ctx context.Context, row task.Sandbox) time.Time {
	if pulse, err := a.deps.Ledger.Pulse(ctx, row.ID, 0); err == nil && pulse.Beat >= 0 {
		return time.Now().Add(-pulse.Beat).UTC()
	}
	if row.StartedAt != nil {
		return *row.StartedAt
	}
	return row.CreatedAt
}

// waited returns how long an activity has run over all of its tries.
func waited(ctx context.Context) time.Duration {
	info := activity.GetInfo(ctx)
	return info.StartedTime.Sub(info.ScheduledTime)
}

// maxKeptBundle is the maximum size of a bundle in the store: GitHub's limit of 100 MB for one file, and a margin.
const maxKeptBundle = 128 << 20

// errTooLarge reports that a file in the sandbox exceeds its limit.
var errTooLarge = errors.New("larger than allowed")

// keepBundle stores the bundle as a text and returns its ID. It copies the bundle to a temporary file first: it does
// not fit into memory, and no SQL statement may wait for a sandbox.
func (a *Activities) keepBundle(ctx context.Context, p place) (id string, err error) {
	spool, err := nameless()
	if err != nil {
		return "", fmt.Errorf("create temporary folder for a bundle: %w", err)
	}
	defer spool.Close() //nolint:errcheck // what it held is stored, or not needed
	encoder := base64.NewEncoder(base64.StdEncoding, spool)
	err = a.file(ctx, p, agentconfig.OutBundle, max(a.cfg.MaxPatchBytes, maxKeptBundle), func(r io.Reader) error {
		_, err := io.Copy(encoder, r)
		return err
	})
	if err == nil {
		err = encoder.Close()
	}
	if err == nil {
		_, err = spool.Seek(0, io.SeekStart)
	}
	if err != nil {
		return "", err
	}
	if id, err = a.deps.Texts.SaveBase64(ctx, p.row.TaskID, savedwork.TextBundle, spool); err != nil {
		return "", fmt.Errorf("store %s: %w", savedwork.TextBundle, err)
	}
	return id, nil
}

// nameless returns a temporary file that disappears with this process.
func nameless() (*os.File, error) {
	f, err := os.CreateTemp("", "omoi-work-")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// keepPatch stores the patch as a text. If the patch is too long, keepPatch stores its first files.
func (a *Activities) keepPatch(ctx context.Context, p place, out task.Salvage) (task.Salvage, error) {
	content, cut, err := a.patchOf(ctx, p)
	if err != nil {
		return out, err
	}
	if cut {
		whole, limit := headers(content), a.cfg.MaxPatchBytes>>20
		if whole == 0 {
			return lost(out, fmt.Sprintf("The first changed file alone makes a patch of more than %d MiB, which is not kept.", limit)), nil
		}
		out.Notes = append(out.Notes, fmt.Sprintf("The patch is longer than %d MiB: only its first files, %d of them, are kept.", limit, whole))
	}
	kind, text := asText(content)
	if out.Ref, err = a.deps.Texts.SaveText(ctx, p.row.TaskID, kind, text); err != nil {
		return out, fmt.Errorf("store %s: %w", kind, err)
	}
	out.Kind = task.SalvagePatch
	return out, nil
}

// patchOf reads the patch, or its complete files within the limit.
func (a *Activities) patchOf(ctx context.Context, p place) (content []byte, cut bool, err error) {
	f, err := p.provider.ReadFile(ctx, p.labels, agentconfig.OutPatch)
	if err != nil {
		return nil, false, fmt.Errorf("open %s in the sandbox: %w", agentconfig.OutPatch, err)
	}
	defer f.Close() //nolint:errcheck // read only
	content, err = io.ReadAll(io.LimitReader(f, a.cfg.MaxPatchBytes+1))
	if err != nil || int64(len(content)) <= a.cfg.MaxPatchBytes {
		return content, false, err
	}
	return content[:bytes.LastIndex(content, []byte("\n"+patchHeader))+1], true, nil
}

// patchHeader starts each file of a patch, and no other line.
const patchHeader = "diff --git "

func headers(patch []byte) int {
	n := bytes.Count(patch, []byte("\n"+patchHeader))
	if bytes.HasPrefix(patch, []byte(patchHeader)) {
		n++
	}
	return n
}

// asText returns content for a text column. Binary content becomes base64, which the kind names.
func asText(content []byte) (kind, text string) {
	if utf8.Valid(content) && !bytes.ContainsRune(content, 0) {
		return savedwork.TextPatch, string(content)
	}
	return savedwork.TextPatchBase64, base64.StdEncoding.EncodeToString(content)
}

// lost records why readable work was not saved.
func lost(out task.Salvage, why string) task.Salvage {
	since := time.Now().UTC()
	out.Kind, out.LostSince, out.Notes = task.SalvageLost, &since, append(out.Notes, why)
	return out
}

// keptWork reads saved work piece by piece.
type keptWork struct {
	piece func(n int) ([]byte, error)
	next  int
	left  []byte
	err   error // error of the store
}

// Read returns the rest of a piece, then requests the next one.
func (k *keptWork) Read(b []byte) (int, error) {
	if len(k.left) == 0 {
		if k.left, k.err = k.piece(k.next); k.err != nil {
			return 0, k.err
		}
		if k.next++; len(k.left) == 0 {
			return 0, io.EOF
		}
	}
	n := copy(b, k.left)
	k.left = k.left[n:]
	return n, nil
}
