package config

import "time"

// Retention sets how long data of ended tasks is kept.
type Retention struct {
	Interval    time.Duration `key:"interval" default:"1h" min:"1s" max:"24h" doc:"Period of retention passes."`
	Events      time.Duration `key:"events" default:"4320h" min:"0s" max:"87600h" zero:"forever" doc:"Age at which events are deleted, with their large fields and the log of their sandbox."`
	LargeFields time.Duration `key:"large_fields" default:"2160h" min:"0s" max:"87600h" zero:"as long as their events" doc:"Age at which large fields of events are deleted."`
	Transcripts time.Duration `key:"transcripts" default:"4320h" min:"0s" max:"87600h" zero:"forever" doc:"Age at which transcripts are deleted."`
	Patches     time.Duration `key:"patches" default:"8760h" min:"0s" max:"87600h" zero:"forever" doc:"Age at which saved work is deleted that omoi stores as a patch or a bundle."`
	BusRows     time.Duration `key:"bus_rows" default:"720h" min:"0s" max:"87600h" zero:"forever" doc:"Age at which rows of the event bus are deleted, from their creation. Rows of open tasks stay."`
	Branches    time.Duration `key:"branches" default:"2160h" min:"0s" max:"87600h" zero:"forever" doc:"Age at which branches are deleted that omoi created and that have neither commits of their own nor a pull request."`
	Refs        time.Duration `key:"refs" default:"8760h" min:"0s" max:"87600h" zero:"forever" doc:"Age at which a task's refs below refs/omoi/ are deleted, including rescue refs."`
}
