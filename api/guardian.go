package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/guardian"
	"github.com/omoi-dev/omoi/internal/task"
)

// Guardian reads analyses and interventions.
type Guardian interface {
	Judgements(ctx context.Context, organizationID string, q client.GuardianQuery) (client.Page[guardian.Analysis], error)
	Interventions(
		ctx context.Context, organizationID string, q client.GuardianQuery,
	) (client.Page[guardian.Intervention], error)
	Withdraw(ctx context.Context, organizationID, id, by string) (guardian.Intervention, error)
	Rate(ctx context.Context, c guardian.RatingCall) (guardian.Rating, error)
	Ratings(ctx context.Context, organizationID string) (guardian.RatingSummary, error)
}

// Actions stores the actions of users of the guardian routes.
type Actions interface {
	CancelByGuardian(ctx context.Context, call guardian.Call, taskID string) (guardian.Action, error)
	OverridePriority(ctx context.Context, call guardian.Call, taskID, priority string) (guardian.Action, error)
	Reallocate(ctx context.Context, call guardian.Call, from, to string, n int) (guardian.Action, error)
	GuardianActions(
		ctx context.Context, organizationID string, kinds, targets []string, limit int,
	) ([]guardian.Action, error)
	GuardianAction(ctx context.Context, organizationID, id string) (guardian.Action, error)
	RevertAction(ctx context.Context, call guardian.Call, id string) (guardian.RevertedAction, error)
}

func (a *API) registerGuardian() {
	all := a.group(tagGuardian, "/api/v1/guardian")
	add(all.on(accessRead, "GET /analyses", "list-guardian-analyses", "List guardian analyses"),
		listed(a.analyses),
		details{more: "Stored analyses of single agents in the caller's organization, newest first."})
	add(all.on(accessRead, "GET /interventions", "list-interventions", "List interventions"),
		listed(a.deps.Guardian.Interventions), details{
			more: "Steering decisions of the guardian, newest first, with the delivery status of their messages and commands.",
		})
	add(all.on(accessWrite, "POST /interventions/{id}/withdraw", "withdraw-intervention", "Withdraw an intervention"),
		a.withdraw, details{
			more: "Possible while the intervention is planned, or while its message is not delivered to the agent; otherwise 409.",
		})
	wrong := []int{http.StatusBadRequest}
	add(all.on(accessRead, "POST /intervention/cancel-task", "guardian-cancel", "Emergency-cancel a task"),
		a.guardianCancel, details{
			more: "Legacy route. Fails the task with the error EMERGENCY CANCELLATION and the reason, saves its work and " +
				"deletes its sandbox. Requires the scope admin. Unknown fields of the body are ignored.",
			says: client.CancelAction{},
		})
	add(all.on(accessRead, "POST /intervention/override-priority", "guardian-priority", "Override a priority"),
		a.guardianPriority, details{
			more: "Legacy route. Changes the priority of a task. Requires the scope admin. Unknown fields of the body are ignored.",
			says: client.PriorityAction{}, fails: wrong,
		})
	add(all.on(accessRead, "POST /intervention/reallocate", "guardian-reallocate", "Reallocate capacity"),
		a.guardianReallocate,
		details{
			more: "Legacy route. Moves slots from the concurrency limit of one project to that of another. Requires the scope " +
				"admin. Unknown fields of the body are ignored.",
			says: client.ReallocateAction{}, fails: wrong,
		})
	add(all.on(accessRead, "GET /actions", "list-guardian-actions", "List guardian actions"), a.listActions,
		details{more: "Legacy route. Actions of users by the routes below /api/v1/guardian/intervention, newest first."})
	add(all.on(accessRead, "GET /actions/{action_id}", "get-guardian-action", "Get a guardian action"), a.getAction,
		details{more: "Legacy route. One action of a user, with its audit log."})
	add(all.on(accessRead, "POST /actions/{action_id}/revert", "revert-guardian-action", "Revert a guardian action"),
		a.revertAction,
		details{
			more: "Legacy route. Reverts what can be reverted, and names what cannot. Requires the scope admin. An action that " +
				"was already reverted answers 404.",
			says: client.RevertAction{},
		})
	a.registerRatings()
	a.registerMonitor()
	a.registerConductor()
}

// analyses lists analyses with the rules under the names of the API.
func (a *API) analyses(
	ctx context.Context, organizationID string, q client.GuardianQuery,
) (client.Page[guardian.Analysis], error) {
	page, err := a.deps.Guardian.Judgements(ctx, organizationID, q)
	for n := range page.Items {
		if err == nil {
			page.Items[n].Rules, err = guardian.ShownRules(page.Items[n].Rules)
		}
	}
	return page, err
}

func (a *API) withdraw(ctx context.Context, in *IDPath) (*bodyOut[client.Intervention], error) {
	who := callerOf(ctx)
	return body(a.deps.Guardian.Withdraw(ctx, who.organization, in.ID, who.name))
}

// authority returns the authority that a caller has by its scope. A request may lower it.
func authority(who caller, said client.Authorship) (guardian.Call, error) {
	call := guardian.Call{OrganizationID: who.organization, By: who.name, Claimed: said.By, Reason: said.Reason}
	levels := []int{guardian.AuthorityWatchdog, guardian.AuthorityMonitor, guardian.AuthorityGuardian} // by scope
	call.Authority = guardian.AuthorityWorker
	if who.scope >= 0 {
		call.Authority = levels[who.scope]
	}
	if said.Authority != nil {
		if *said.Authority < guardian.AuthorityWorker || *said.Authority > guardian.AuthoritySystem {
			return call, task.Invalid("authority", "Invalid authority: must be 1 to 5.")
		}
		call.Authority = min(call.Authority, *said.Authority)
	}
	for field, text := range map[string]string{"reason": said.Reason, "initiated_by": said.By} {
		if err := checkText(field, text, maxReason); err != nil {
			return call, err
		}
	}
	switch {
	case said.Reason == "":
		return call, task.Invalid("reason", "Missing field reason: expected why the action is needed.")
	case call.Authority < guardian.AuthorityGuardian:
		return call, task.Errorf(task.CodeForbidden, "The action needs the authority GUARDIAN (4): the caller has %s (%d). Next: use an API key with the scope admin",
			guardian.AuthorityName(call.Authority), call.Authority).WithKind(task.KindScope)
	}
	return call, nil
}

// act decodes the body of an action into said, with who its authorship, and returns what its caller may do.
func act(ctx context.Context, in *rawIn, said any, who *client.Authorship) (guardian.Call, error) {
	if err := decode(in.RawBody, said); err != nil {
		return guardian.Call{}, err
	}
	return authority(callerOf(ctx), *who)
}

func (a *API) guardianCancel(ctx context.Context, in *rawIn) (*bodyOut[client.GuardianAction], error) {
	var said client.CancelAction
	call, err := act(ctx, in, &said, &said.Authorship)
	if err == nil {
		said.TaskID, err = a.idOf(ctx, task.KeyedTask, said.TaskID)
	}
	if err == nil {
		err = knownID("task", said.TaskID)
	}
	if err != nil {
		return nil, err
	}
	return body(a.deps.Actions.CancelByGuardian(ctx, call, said.TaskID))
}

func (a *API) guardianPriority(ctx context.Context, in *rawIn) (*bodyOut[client.GuardianAction], error) {
	var said client.PriorityAction
	call, err := act(ctx, in, &said, &said.Authorship)
	if err == nil {
		said.TaskID, err = a.idOf(ctx, task.KeyedTask, said.TaskID)
	}
	if err == nil {
		err = knownID("task", said.TaskID)
	}
	if err != nil {
		return nil, err
	}
	priority := strings.ToUpper(said.Priority)
	if !slices.Contains(task.Priorities(), priority) {
		return nil, &statusError{
			http.StatusBadRequest,
			task.Invalid("priority", "Invalid priority %q: must be one of %s.", clip(said.Priority), joined(task.Priorities())),
		}
	}
	return body(a.deps.Actions.OverridePriority(ctx, call, said.TaskID, priority))
}

func (a *API) guardianReallocate(ctx context.Context, in *rawIn) (*bodyOut[client.GuardianAction], error) {
	var said client.ReallocateAction
	call, err := act(ctx, in, &said, &said.Authorship)
	switch {
	case err != nil:
		return nil, err
	case said.Capacity < 1 || said.Capacity > 10_000:
		return nil, task.Invalid("capacity", "Invalid capacity: must be 1 to 10000.")
	}
	for _, side := range []*string{&said.From, &said.To} {
		if *side, err = a.agentOrKey(ctx, *side, task.KeyedProject, task.KeyedTask); err != nil {
			return nil, err
		}
	}
	done, err := a.deps.Actions.Reallocate(ctx, call, said.From, said.To, said.Capacity)
	if task.CodeOf(err) == task.CodeExhausted {
		return nil, &statusError{http.StatusBadRequest, task.Invalid("capacity", "%s", task.MessageOf(err))}
	}
	return body(done, err)
}

type listActionsIn struct {
	Limit   int      `query:"limit" default:"100" minimum:"1" maximum:"1000" doc:"Maximum number of actions in the list"`
	Types   []string `query:"action_type,explode" doc:"Only actions of these types; absent: of all types"`
	Targets []string `query:"target_entity,explode" doc:"Only actions on these targets, compared exactly; absent: on all targets"`
}

func (a *API) listActions(ctx context.Context, in *listActionsIn) (*arrayOut[client.GuardianAction], error) {
	return array(a.deps.Actions.GuardianActions(ctx, callerOf(ctx).organization, in.Types, in.Targets, in.Limit))
}

type actionIn struct {
	ID string `path:"action_id"`
}

func (a *API) getAction(ctx context.Context, in *actionIn) (*bodyOut[client.GuardianAction], error) {
	return body(a.deps.Actions.GuardianAction(ctx, callerOf(ctx).organization, in.ID))
}

type revertIn struct {
	ID      string `path:"action_id"`
	RawBody []byte `contentType:"application/json"`
}

func (a *API) revertAction(ctx context.Context, in *revertIn) (*bodyOut[client.RevertedAction], error) {
	var said client.RevertAction
	if err := decode(in.RawBody, &said); err != nil {
		return nil, err
	}
	call, err := authority(callerOf(ctx), client.Authorship{Reason: said.Reason, By: said.By})
	if err != nil {
		return nil, err
	}
	done, err := a.deps.Actions.RevertAction(ctx, call, in.ID)
	return body(client.RevertedAction{
		ActionID: in.ID, Reverted: true, Reason: call.Reason, RevertedBy: call.By, Items: orNone(done.Items),
		NotReverted: orNone(done.NotReverted),
	}, err)
}
