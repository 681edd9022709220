package client

// Organization owns projects. Its plan, or a limit of its own, says how many of its tasks may be at work.
type Organization struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Plan     string `json:"plan"`                 // free, pro, lifetime, team, enterprise or unlimited
	MaxSlots *int   `json:"max_concurrent_tasks"` // a limit of its own, which goes before the plan's; null: none
	Limit    *int   `json:"limit"`                // what binds; null: nothing does
	AtWork   int    `json:"at_work"`              // tasks that hold a slot
	Waiting  int    `json:"waiting"`              // tasks that wait for one, or for something else
	Paused   bool   `json:"paused"`
}

// OrganizationPatch is the body of PATCH /api/v1/organizations/{id}. What is absent stays.
type OrganizationPatch struct {
	Plan     *string `json:"plan,omitempty" nullable:"false" doc:"free, pro, lifetime, team, enterprise or unlimited"`
	MaxSlots *int    `json:"max_concurrent_tasks,omitempty" minimum:"-1" maximum:"10000" nullable:"false" doc:"A limit of its own, which goes before the plan's; -1: none"`
}
