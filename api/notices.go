package api

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/notice"
	"github.com/omoi-dev/omoi/internal/task"
)

// NoticeRules manages the rules by which users are notified.
type NoticeRules interface {
	Create(ctx context.Context, n notice.NewRule) (notice.Rule, error)
	List(ctx context.Context, q notice.RuleQuery) ([]notice.Rule, error)
	Get(ctx context.Context, q notice.RuleQuery) (notice.Rule, error)
	Update(ctx context.Context, r notice.Rule, e notice.Edit) (notice.Rule, error)
	Delete(ctx context.Context, r notice.Rule) error
	Test(ctx context.Context, r notice.Rule) (notice.Test, error)
}

// Notices lists notices.
type Notices interface {
	Notices(ctx context.Context, organizationID string, q client.NoticeQuery) (client.Page[client.Notice], error)
}

func (a *API) registerNotices() {
	rules := a.group(tagNotices, "/api/v1/notice-rules")
	notices := a.group(tagNotices, "/api/v1/notices")
	add(rules.on(accessRead, "GET", "list-notice-rules", "List notice rules"), a.listNoticeRules,
		details{more: "Rules of the caller and of the organization without secrets, newest first.", fails: []int{http.StatusGone}})
	add(rules.on(accessWrite, "POST", "create-notice-rule", "Create a notice rule"), a.createNoticeRule,
		details{more: "The receiver is notified of changes from now on.", status: http.StatusCreated})
	add(rules.on(accessWrite, "PATCH /{id}", "update-notice-rule", "Update a notice rule"), a.updateNoticeRule,
		details{more: "Absent fields stay unchanged. Pending notices are sent at once, to a new address too."})
	add(rules.on(accessWrite, "DELETE /{id}", "delete-notice-rule", "Delete a notice rule"), a.deleteNoticeRule,
		details{more: "Deletes the rule with its notices, also pending ones.", status: http.StatusNoContent})
	add(rules.on(accessWrite, "POST /{id}/test", "test-notice-rule", "Test a notice rule"), a.testNoticeRule,
		details{more: "Sends a test notice to the receiver, and returns its answer within ten seconds."})
	add(notices.on(accessRead, "GET", "list-notices", "List notices"), a.listNotices,
		details{more: "Notices of the rules that the caller can see with their delivery, newest first. Delivered and failed ones are kept for 30 days."})
}

func rulesOf(who caller) notice.RuleQuery {
	return notice.RuleQuery{OrganizationID: who.organization, UserID: who.user}
}

func (a *API) listNoticeRules(ctx context.Context, in *client.PageRequest) (*pageOut[client.NoticeRule], error) {
	all, err := a.deps.NoticeRules.List(ctx, rulesOf(callerOf(ctx)))
	return whole(*in, func(r client.NoticeRule) string { return r.ID }, all, err)
}

func (a *API) createNoticeRule(ctx context.Context, in *bodyIn[client.CreateNoticeRuleRequest]) (*bodyOut[client.NoticeRule], error) {
	if in.Body.ProjectID != "" {
		if err := a.idIn(ctx, "project_id", task.KeyedProject, &in.Body.ProjectID); err != nil {
			return nil, err
		}
		if !isID(in.Body.ProjectID) {
			return nil, task.Invalid("project_id", "Invalid project_id: expected an ID or a key.")
		}
	}
	who := callerOf(ctx)
	n := notice.NewRule{Address: notice.Address{URL: in.Body.Address, Secret: in.Body.Secret}}
	n.OrganizationID, n.UserID, n.ProjectID, n.Channel, n.Events = who.organization, who.user, in.Body.ProjectID, in.Body.Channel, in.Body.Events
	n.Scope = cmp.Or(in.Body.Scope, notice.ScopeUser)
	if n.Scope == notice.ScopeOrganization {
		n.UserID = ""
	}
	err := mayChange(who, n.Rule)
	if err == nil {
		err = a.mayAlert(who, n.Rule, n.Events)
	}
	if err != nil {
		return nil, err
	}
	return body(a.deps.NoticeRules.Create(ctx, n))
}

// mayChange refuses a rule for all users without the scope admin, and a rule for the tasks of a caller that is no user.
func mayChange(who caller, r notice.Rule) error {
	switch {
	case r.Scope == notice.ScopeOrganization:
		return enough(who, accessAdmin)
	case who.user == "":
		return task.Errorf(task.CodeForbidden, "The caller has no user, and so no tasks of its own. Next: use an API key of a user")
	}
	return nil
}

// mayAlert refuses the event alert in a rule of others than an operator: alerts are about the whole installation.
func (a *API) mayAlert(who caller, r notice.Rule, events []string) error {
	switch {
	case !slices.Contains(events, notice.Alert) || a.operates(who) && r.Scope == notice.ScopeOrganization && r.ProjectID == "":
		return nil
	case a.operates(who):
		return task.Invalid("events", "Invalid event alert: only a rule with the scope organization and without a project can have it.")
	}
	return task.Errorf(task.CodeForbidden, "The event alert is for admins of the installation. Next: name other events").WithKind(task.KindScope)
}

// noticeRule returns a rule that the caller may change.
func (a *API) noticeRule(ctx context.Context, id string) (notice.Rule, error) {
	q := rulesOf(callerOf(ctx))
	q.ID = id
	r, err := a.deps.NoticeRules.Get(ctx, q)
	if err == nil {
		err = mayChange(callerOf(ctx), r)
	}
	return r, err
}

func (a *API) updateNoticeRule(ctx context.Context, in *changeIn[client.UpdateNoticeRuleRequest]) (*bodyOut[client.NoticeRule], error) {
	r, err := a.noticeRule(ctx, in.ID)
	if err == nil {
		err = a.mayAlert(callerOf(ctx), r, task.Deref(in.Body.Events))
	}
	if err != nil {
		return nil, err
	}
	return body(a.deps.NoticeRules.Update(ctx, r, notice.Edit{
		Events: in.Body.Events, Enabled: in.Body.Enabled, Address: in.Body.Address, Secret: in.Body.Secret,
	}))
}

func (a *API) deleteNoticeRule(ctx context.Context, in *IDPath) (*struct{}, error) {
	r, err := a.noticeRule(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return nil, a.deps.NoticeRules.Delete(ctx, r)
}

func (a *API) testNoticeRule(ctx context.Context, in *IDPath) (*bodyOut[client.NoticeTest], error) {
	r, err := a.noticeRule(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	return body(a.deps.NoticeRules.Test(ctx, r))
}

func (a *API) listNotices(ctx context.Context, in *client.NoticeQuery) (*pageOut[client.Notice], error) {
	who, q := callerOf(ctx), *in
	q.UserID = who.user
	return body(a.deps.Notices.Notices(ctx, who.organization, q))
}
