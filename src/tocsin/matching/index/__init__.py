"""An index for each kind of filter, and the step that combines what they find."""
