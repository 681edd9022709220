package inbox

// Named adds to an event's data which message it is about and who has sent it, as far as it
// is known: nil stands for what is not.
func (m Message) Named(data map[string]any) map[string]any {
	data["message_id"], data["sender_kind"], data["sender_id"] = orNil(m.ID), orNil(m.SenderKind), orNil(m.SenderID)
	return data
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}
