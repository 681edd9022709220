package api

import (
	"maps"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/omoi-dev/omoi/internal/event/catalog"
)

// describeEvents describes each event schema as a union of event types, for example AgentStartedEvent, whose event_data
// is an AgentStartedData, for agent.started.
func describeEvents(schemas map[string]*huma.Schema) {
	events := catalog.Events()
	for eventType, e := range events {
		schemas[typeName(eventType)+"Data"] = eventSchema(e)
	}
	schemas["DroppedFields"] = droppedFields()
	schemas["CredentialTakeoverFields"] = takeoverFields()
	types := slices.Sorted(maps.Keys(events))
	schemas["ShortEvent"].Properties["event_data"] = otherData()
	for _, form := range []string{"Event", "SandboxEvent", "CreateEventRequest"} {
		describeTypes(schemas, form, types)
	}
}

// describeTypes describes an event schema as a union of one schema for each type and one for all other events. The
// common properties also stay in the union, for code generators that do not support unions.
func describeTypes(schemas map[string]*huma.Schema, form string, types []string) {
	event := schemas[form]
	event.Properties["event_data"] = otherData()
	schemas[form+"Base"] = baseOf(event)
	for _, eventType := range types {
		name := typedName(form, typeName(eventType))
		schemas[name] = typedEvent(form, &huma.Schema{Type: huma.TypeString, Enum: []any{eventType}, Description: "Always this event type."},
			&huma.Schema{Ref: schemaPrefix + typeName(eventType) + "Data"})
		event.OneOf = append(event.OneOf, &huma.Schema{Ref: schemaPrefix + name})
	}
	other := typedEvent(form, event.Properties["event_type"], otherData())
	other.Description = "An event of a type, or with a field of a type, that this document does not know."
	other.Not = &huma.Schema{AnyOf: event.OneOf}
	schemas[typedName(form, "Other")] = other
	event.OneOf = append(slices.Clone(event.OneOf), &huma.Schema{Ref: schemaPrefix + typedName(form, "Other")})
}

// typedName returns, for example, AgentStartedEvent, SandboxAgentStartedEvent or CreateAgentStartedEventRequest for the
// type AgentStarted.
func typedName(form, typeName string) string {
	return strings.Replace(form, "Event", typeName+"Event", 1)
}

// baseOf returns a schema of the properties that do not depend on the type of an event.
func baseOf(event *huma.Schema) *huma.Schema {
	base := &huma.Schema{Type: huma.TypeObject, Description: "What events of all types have.", Properties: maps.Clone(event.Properties)}
	for _, name := range event.Required {
		if base.Properties[name] != nil && !ofType(name) {
			base.Required = append(base.Required, name)
		}
	}
	maps.DeleteFunc(base.Properties, func(name string, _ *huma.Schema) bool { return ofType(name) })
	return base
}

func ofType(property string) bool { return property == "event_type" || property == "event_data" }

func typedEvent(form string, eventType, data *huma.Schema) *huma.Schema {
	typed := &huma.Schema{
		Type: huma.TypeObject, Required: []string{"event_type"},
		Properties: map[string]*huma.Schema{"event_type": eventType, "event_data": data},
	}
	if form != "CreateEventRequest" {
		typed.Required = append(typed.Required, "event_data")
	}
	return &huma.Schema{AllOf: []*huma.Schema{{Ref: schemaPrefix + form + "Base"}, typed}}
}

func otherData() *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: true,
		Description: "Fields of the event, as its sender gave them. docs/EVENTS.md lists the fields of each type.",
	}
}

func droppedFields() *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: true, Description: "Fields that omoi-agent removed after the original event was rejected.",
		Properties: map[string]*huma.Schema{
			"reason": {Type: huma.TypeString, Description: "refused: the API rejected the original event; refused_on_the_way: a proxy did. More values may be added."},
			"bytes":  {Type: huma.TypeInteger, Description: "Size of the original event in bytes."},
			"fields": {
				Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString},
				Description: "Names of the removed fields, at most 20.",
			},
		},
	}
}

func takeoverFields() *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: true, Description: "Credential that an attempt uses in place of the first one of its owner and kind.",
		Properties: map[string]*huma.Schema{
			"kind":           {Type: huma.TypeString, Description: "Kind of both credentials, for example openai."},
			"scope":          {Type: huma.TypeString, Description: "Owner of both credentials: user, project or organization."},
			"number":         {Type: huma.TypeInteger, Description: "Number of the credential that the attempt uses."},
			"limited_number": {Type: huma.TypeInteger, Description: "Number of the first credential, which was rate limited when the attempt began."},
			"resets_at":      {Type: huma.TypeString, Format: "date-time", Description: "When the cooldown of the first credential was to end."},
		},
	}
}

func eventSchema(e catalog.Event) *huma.Schema {
	fields := make(map[string]*huma.Schema, len(e.Fields))
	for name, f := range e.Fields {
		fields[name] = fieldSchema(name, f)
	}
	return &huma.Schema{
		Type: huma.TypeObject, Description: strings.TrimSpace(e.Summary + " " + e.Effect), Properties: fields,
		AdditionalProperties: true,
	}
}

func fieldSchema(name string, f catalog.Field) *huma.Schema {
	field := &huma.Schema{Type: f.Type, Nullable: f.Nullable, Description: f.Doc}
	switch {
	case name == "dropped":
		return &huma.Schema{Ref: schemaPrefix + "DroppedFields", Description: f.Doc}
	case name == "credential_takeover":
		return &huma.Schema{Ref: schemaPrefix + "CredentialTakeoverFields", Description: f.Doc}
	case f.Type == "any":
		field.Type = ""
	case f.Type == huma.TypeArray:
		field.Items = &huma.Schema{Type: huma.TypeString}
	case f.Type == huma.TypeObject:
		field.AdditionalProperties = true
	}
	return field
}

// typeName returns, for example, AgentStarted for agent.started.
func typeName(eventType string) string {
	var name strings.Builder
	for part := range strings.FieldsFuncSeq(eventType, func(r rune) bool { return r == '.' || r == '_' }) {
		name.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return name.String()
}
