"""Documents for users and agents: guidance, reviews, timelines, walkthroughs."""
