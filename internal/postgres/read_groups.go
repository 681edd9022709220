package postgres

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

func taskParams(organizationID string, query client.TaskQuery) db.ReadTasksParams {
	p := db.ReadTasksParams{
		OrganizationID: organizationID, Statuses: query.Statuses, PhaseIds: query.PhaseIDs, HasSandbox: query.HasSandbox,
		TicketIds: query.TicketIDs, ProjectIds: query.ProjectIDs, Agents: query.Agents, Text: query.Text, Ids: query.IDs, Fragments: query.Fragments,
	}
	ranks := map[string]int{}
	add := func(state string, group task.Group) {
		if slices.Contains(query.Groups, string(group)) {
			p.States = append(p.States, state)
		}
		ranks[state] = slices.Index(task.Groups(), group)
	}
	add("running:message", task.GroupNeedsYou)
	for _, status := range task.Statuses() {
		for _, blocked := range task.BlockedReasons() {
			state := string(status) + ":" + string(blocked)
			add(state, task.GroupOf(status, blocked))
			if status.Final() {
				ranks[state] = len(task.Groups()) // ended tasks of all groups are in one order
			}
		}
	}
	if query.ByGroup {
		p.Ranks, _ = json.Marshal(ranks) //nolint:errchkjson // a map of numbers
	}
	return p
}

// pageByGroup is pageOf for the order of groups. The cursor holds the sort key of the last row.
func pageByGroup(
	in client.PageRequest, asked *db.ReadTasksParams, read func(place) ([]db.ReadTasksRow, error), record func(db.ReadTasksRow) task.Task,
) (client.Page[task.Task], error) {
	p := place{rows: cmp.Or(in.Limit, defaultLimit) + 1}
	if in.Cursor != "" {
		var rank int
		var key float64
		var id string
		raw, err := base64.RawURLEncoding.DecodeString(in.Cursor)
		if n, _ := fmt.Sscanf(string(raw), "%d %g %s", &rank, &key, &id); err != nil || n < 3 || rank < -len(task.Groups()) || rank > 0 {
			return client.Page[task.Task]{}, task.InvalidCursor("cursor")
		}
		asked.BeforeRank, asked.BeforeKey, p.id = &rank, &key, &id
	}
	rows, err := read(p)
	if in.Cursor != "" && task.CodeOf(translate("read a page", err)) == task.CodeInvalid {
		err = task.InvalidCursor("cursor") // its ID is none
	}
	page := client.Page[task.Task]{Items: mapAll(rows[:min(len(rows), p.rows-1)], record)}
	if len(rows) == p.rows {
		last := rows[len(rows)-2]
		cursor := fmt.Sprintf("%d %g %s", last.Rank, last.SortKey, last.TaskBrief.ID)
		page.NextCursor = new(base64.RawURLEncoding.EncodeToString([]byte(cursor)))
	}
	return page, err
}

// groupOf returns the group of a task. An agent that waits for a message needs a user.
func groupOf(status, blocked string, agentWaits bool) task.Group {
	if agentWaits {
		return task.GroupNeedsYou
	}
	return task.GroupOf(task.Status(status), task.BlockedReason(blocked))
}

// TaskCounts counts the tasks of an organization by group.
func (s *Store) TaskCounts(ctx context.Context, organizationID string, query client.TaskCountQuery) (client.TaskCounts, error) {
	var out client.TaskCounts
	rows, err := s.q.CountTasks(ctx, db.CountTasksParams{
		OrganizationID: organizationID, ProjectIds: query.ProjectIDs, Agents: query.Agents, Text: query.Text,
	})
	counts := map[task.Group]*int64{
		task.GroupNeedsYou: &out.NeedsYou, task.GroupRunning: &out.Running, task.GroupChecking: &out.Checking,
		task.GroupWaiting: &out.Waiting, task.GroupDone: &out.Done, task.GroupFailed: &out.Failed, task.GroupCancelled: &out.Cancelled,
	}
	for _, row := range rows {
		*counts[groupOf(row.Status, row.BlockedReason, row.AgentWaits)] += row.Tasks
		out.Total += row.Tasks
	}
	return out, translate("count tasks", err)
}
