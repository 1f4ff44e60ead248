"""What happens to a row and its target before the rule sees them: moments, scaling, feature maps."""
