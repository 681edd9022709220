package postgres

import (
	"cmp"
	"context"
	"time"

	"github.com/omoi-dev/omoi/api/client"
	"github.com/omoi-dev/omoi/internal/credential"
	"github.com/omoi-dev/omoi/internal/explain"
	"github.com/omoi-dev/omoi/internal/notice"
	"github.com/omoi-dev/omoi/internal/postgres/db"
	"github.com/omoi-dev/omoi/internal/task"
)

var _ notice.Store = (*Store)(nil)

// TakeDeliveries implements [notice.Store].
func (s *Store) TakeDeliveries(ctx context.Context, q notice.Taking) ([]notice.Due, error) {
	rows, err := s.q.TakeDeliveries(ctx, db.TakeDeliveriesParams{Pause: q.Lease, Busy: orEmpty(q.Busy), Most: q.Most, Diagnoses: q.Diagnoses})
	return mapAll(rows, func(r db.TakeDeliveriesRow) notice.Due {
		return notice.Due{
			ID: r.ID, Event: r.Event, Body: r.Body, Tries: r.Tries, Age: age(r.Age), CreatedAt: r.CreatedAt, RuleID: r.RuleID,
			OrganizationID: r.OrganizationID, Channel: r.Channel, Sealed: r.Sealed, Failures: r.Failures,
		}
	}), translate("lease deliveries", err)
}

// SettleDelivery implements [notice.Store].
func (s *Store) SettleDelivery(ctx context.Context, o notice.Outcome) error {
	return translate("settle delivery "+o.ID, s.q.SettleDelivery(ctx, db.SettleDeliveryParams{
		State: deliveryNames().stored(o.State), Error: storable(o.Error), Pause: o.Pause, RulePause: o.RulePause, ID: o.ID,
	}))
}

// DropOldNotices implements [notice.Store].
func (s *Store) DropOldNotices(ctx context.Context, age time.Duration) error {
	const most = 10_000
	_, err := s.q.DropOldNotices(ctx, age, most)
	return translate("drop old notices", err)
}

// InsertNoticeRule implements [notice.Store]. A project of another organization is [task.CodeNotFound].
func (s *Store) InsertNoticeRule(ctx context.Context, r notice.Rule, sealed string) (notice.Rule, error) {
	row, err := s.q.InsertNoticeRule(ctx, db.InsertNoticeRuleParams{
		ID: r.ID, OrganizationID: r.OrganizationID, ProjectID: orNull(r.ProjectID), UserID: orNull(r.UserID), Channel: r.Channel,
		Events: r.Events, Receiver: r.Receiver, Sealed: sealed,
	})
	return noticeRuleOf(row, 0), missing(translate("store a notice rule", err), "There is no project %s.", r.ProjectID)
}

// NoticeRules implements [notice.Store].
func (s *Store) NoticeRules(ctx context.Context, q notice.RuleQuery) ([]notice.Rule, error) {
	rows, err := s.q.NoticeRules(ctx, db.NoticeRulesParams{OrganizationID: q.OrganizationID, UserID: orNull(q.UserID), ID: orNull(q.ID)})
	return mapAll(rows, func(r db.NoticeRulesRow) notice.Rule { return noticeRuleOf(r.NoticeRule, r.Pending) }), translate("read notice rules", err)
}

func noticeRuleOf(r db.NoticeRule, pending int) notice.Rule {
	rule := notice.Rule{
		ID: r.ID, Scope: notice.ScopeUser, ProjectID: task.Deref(r.ProjectID), Channel: r.Channel, Receiver: r.Receiver, Events: r.Events,
		Enabled: r.Enabled, Pending: pending, Failures: r.Failures, Error: r.Error, CreatedAt: r.CreatedAt.UTC(),
		OrganizationID: r.OrganizationID, UserID: task.Deref(r.UserID), Sealed: r.Sealed,
	}
	if rule.UserID == "" {
		rule.Scope = notice.ScopeOrganization
	}
	if r.Failures > 0 {
		rule.RetryAt = new(r.DueAt.UTC())
	}
	return rule
}

// UpdateNoticeRule implements [notice.Store].
func (s *Store) UpdateNoticeRule(ctx context.Context, c notice.RuleChange) error {
	n, err := s.q.UpdateNoticeRule(ctx, db.UpdateNoticeRuleParams{ID: c.ID, Events: c.Events, Enabled: c.Enabled, Receiver: c.Receiver, Sealed: c.Sealed})
	return noticeRuleExists(c.ID, n, err)
}

// DeleteNoticeRule implements [notice.Store].
func (s *Store) DeleteNoticeRule(ctx context.Context, id string) error {
	n, err := s.q.DeleteNoticeRule(ctx, id)
	return noticeRuleExists(id, n, err)
}

func noticeRuleExists(id string, rows int64, err error) error {
	if err == nil && rows == 0 {
		return task.Errorf(task.CodeNotFound, "There is no notice rule %s.", id)
	}
	return translate("change notice rule "+id, err)
}

// Notices lists notices of the rules that a user sees, newest first.
func (s *Store) Notices(ctx context.Context, organizationID string, query client.NoticeQuery) (client.Page[client.Notice], error) {
	page, err := pageOf(query.PageRequest, func(p place) ([]db.NoticesRow, error) {
		return s.q.Notices(ctx, db.NoticesParams{
			OrganizationID: organizationID, UserID: orNull(query.UserID), RuleIds: query.RuleIDs, TaskIds: query.TaskIDs,
			BeforeAt: p.at, BeforeID: p.id, MaxRows: p.rows,
		})
	}, noticeOf, func(n client.Notice) (time.Time, string) { return n.CreatedAt, n.ID })
	return page, translate("list notices", err)
}

func noticeOf(r db.NoticesRow) client.Notice {
	facts, _ := notice.ParseFacts(r.Body) // the database wrote the value
	n := client.Notice{
		RuleID: task.Deref(r.RuleID), Channel: r.Channel, Receiver: r.Receiver, TaskID: task.Deref(r.TaskID), TaskKey: facts.Key, Event: r.Event,
		Title: facts.Message(r.Event, "").Title, CreatedAt: r.CreatedAt.UTC(),
	}
	n.Delivery = explain.Delivery{ID: r.ID, State: deliveryNames().named(r.State), Attempts: r.Tries, Error: r.Error, DeliveredAt: r.DeliveredAt}
	return n
}

// NoticeAddresses implements [credential.Store].
func (s *Store) NoticeAddresses(ctx context.Context, afterID string, limit int) ([]credential.NoticeAddress, error) {
	const before = "00000000-0000-0000-0000-000000000000"
	rows, err := s.q.NoticeSecrets(ctx, cmp.Or(afterID, before), limit)
	return mapAll(rows, func(r db.NoticeSecretsRow) credential.NoticeAddress {
		return credential.NoticeAddress{RuleID: r.ID, OrganizationID: r.OrganizationID, Sealed: r.Sealed}
	}), translate("read the addresses of notice rules", err)
}

// ResealNoticeAddress implements [credential.Store].
func (s *Store) ResealNoticeAddress(ctx context.Context, was credential.NoticeAddress, sealed string) (bool, error) {
	n, err := s.q.ResealNoticeRule(ctx, db.ResealNoticeRuleParams{ID: was.RuleID, Was: was.Sealed, Sealed: sealed})
	return n > 0, translate("encrypt the address of notice rule "+was.RuleID+" again", err)
}
