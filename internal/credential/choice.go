package credential

import (
	"time"

	"github.com/omoi-dev/omoi/internal/task"
)

// Rules are what the choice between credentials of one owner and kind depends on. The zero value chooses the first.
type Rules struct {
	Cooldowns     map[string]Cooldown // active cooldowns by the name of their credential
	Subscriptions bool                // the operator allows that a subscription takes over from another
}

// Cooldown is the active cooldown of a credential.
type Cooldown struct {
	Until time.Time
	Probe string // ID of the task that may use the credential all the same, to try it; empty: none
}

// Choice is the credential that the agent of a task uses.
type Choice struct {
	// Name is the name of the credential. Tasks with the same name share a rate limit. If omoi knows no credential of the
	// task, or several, the name belongs to this task alone.
	Name    string
	All     []string       // names of the credentials from which Name was chosen, in their order
	Until   time.Time      // end of the cooldown of the credential; zero: it is not in cooldown
	Instead *task.Takeover // nil: Name is the first of All
}

// Limited reports whether the credential is in cooldown, and so each of All.
func (c Choice) Limited() bool { return !c.Until.IsZero() }

// Choose chooses the credential of a task: the nearest owner in the order user, project, organization, installation, and
// of the credentials of this owner and kind the first without a cooldown. If all are in cooldown, the choice is the one
// whose cooldown ends first. rows are the credentials of the task's organization.
func Choose(rows []Row, work task.Work, rules Rules) Choice {
	name := onlyName(work)
	if name == "" {
		return Choice{Name: OfTask + work.TaskID}
	}
	all := nearest(rows, Who{OrganizationID: work.OrganizationID, UserID: work.UserID, ProjectID: work.ProjectID}, name)
	if len(all) == 0 {
		return Choice{Name: OfInstallation + name}
	}
	if IsSubscription(all[0].Kind) && !rules.Subscriptions {
		all = all[:1]
	}
	at := rules.first(all, work.TaskID)
	c := Choice{Name: all[at].name(), Until: rules.until(all[at], work.TaskID)}
	for _, row := range all {
		c.All = append(c.All, row.name())
	}
	if at > 0 {
		c.Instead = rules.takeover(all[0], all[at])
	}
	return c
}

// IsSubscription reports whether a kind is the login of a user with a subscription. The terms of its provider may forbid
// that one subscription takes over from another.
func IsSubscription(kind string) bool { return kind == ClaudeOAuth || kind == gitHubCopilot }

// first returns the index of the first credential without a cooldown, else of that whose cooldown ends first.
func (r Rules) first(all []Row, taskID string) int {
	at := 0
	for n := range all {
		if r.until(all[n], taskID).Before(r.until(all[at], taskID)) { // the zero time is before any other
			at = n
		}
	}
	return at
}

// until returns the end of the cooldown of a credential; zero if the task may use it.
func (r Rules) until(row Row, taskID string) time.Time {
	if c, active := r.Cooldowns[row.name()]; active && c.Probe != taskID {
		return c.Until
	}
	return time.Time{}
}

func (r Rules) takeover(first, chosen Row) *task.Takeover {
	return &task.Takeover{
		Kind: chosen.Kind, Scope: chosen.Scope(), Number: max(chosen.Number, 1),
		Limited: max(first.Number, 1), Until: r.Cooldowns[first.name()].Until.UTC(),
	}
}
